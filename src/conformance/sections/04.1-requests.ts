import { isObject } from "../../protocol/params.ts";
import { ensure, show } from "../outcome.ts";
import { check, clientRule, rule, section, untried } from "../rule.ts";
import type { ServerUnderTest } from "../server-under-test.ts";

const INVALID_REQUEST = -32600;
const INVALID_PARAMS = -32602;

/** Sends a message that is no request, and wants -32600. @param id under which the refusal may come, besides null */
async function refuse(server: ServerUnderTest, message: object, id?: string | number): Promise<void> {
  const client = await server.shared();
  const { value } = await client.ask(message, { path: "/ping" });
  const error = isObject(value) ? value.error : undefined;
  ensure(
    isObject(error) && error.code === INVALID_REQUEST,
    `${show(message)} must be refused with ${INVALID_REQUEST}, not answered with ${show(value)}`,
  );
  const under = isObject(value) ? value.id : undefined;
  ensure(under === null || under === id, `the refusal of ${show(message)} came under id ${show(under)}`);
}

export const requests = section(
  "4.1",
  "Requests and responses",
  [
    rule("jsonrpc", "MUST", 'say jsonrpc "2.0" in every message, and take no other'),
    rule("id-type", "MUST", "take a string or a number as an id, and nothing else"),
    clientRule("id-unique", "MUST", "use an id once until it is answered"),
    rule("method-name", "MUST", "take only a method's name as method"),
    rule("params-object", "MUST", "take only an object as params"),
    rule("one-of", "MUST", "answer with result or error, never both (JSON-RPC 2.0)"),
    untried(
      "shape",
      "MUST",
      "give every response the shape of the JSON schema",
      "tried with every response of every other check",
    ),
  ],
  [
    check("jsonrpc one-of", "a response says jsonrpc 2.0 and has exactly one of result and error", async (server) => {
      const client = await server.shared();
      await client.result("info");
      await client.call("rcp-conformance-no-such-method");
    }),
    check("jsonrpc", "a request that says another jsonrpc version is refused with -32600", (server) =>
      refuse(server, { jsonrpc: "1.0", id: 1, method: "ping", params: {} }, 1),
    ),
    check("jsonrpc", "a request whose jsonrpc is the number 2 is refused with -32600", (server) =>
      refuse(server, { jsonrpc: 2, id: 1, method: "ping", params: {} }, 1),
    ),
    check("id-type", "an id that is true, an array or an object is refused with -32600", async (server) => {
      for (const id of [true, false, [1], {}]) await refuse(server, { jsonrpc: "2.0", id, method: "ping", params: {} });
    }),
    check("method-name", "a method that is missing, a number or an object is refused with -32600", async (server) => {
      await refuse(server, { jsonrpc: "2.0", id: 1, params: {} }, 1);
      for (const method of [7, {}, null]) await refuse(server, { jsonrpc: "2.0", id: 1, method, params: {} }, 1);
    }),
    check("params-object", "params that are an array, a string or a number are refused", async (server) => {
      const client = await server.shared();
      for (const params of [[1], "x", 5, true]) await client.refusal("ping", params, INVALID_PARAMS, INVALID_REQUEST);
    }),
    check("params-object", "absent params count as an empty object", async (server) => {
      const client = await server.shared();
      const { value } = await client.ask({ jsonrpc: "2.0", id: 1, method: "info" });
      ensure(isObject(value) && isObject(value.result), `info without params was answered with ${show(value)}`);
    }),
  ],
);
