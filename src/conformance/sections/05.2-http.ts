import { isObject } from "../../protocol/params.ts";
import { readFrame } from "../frame.ts";
import type { HttpClient } from "../http-client.ts";
import type { HttpAnswer } from "../http-endpoint.ts";
import { ensure, need, show } from "../outcome.ts";
import { check, clientRule, rule, section, untried } from "../rule.ts";
import type { ServerUnderTest } from "../server-under-test.ts";
import { unadvertisedMethods } from "./07-methods.ts";

const HTTP = { transport: "http" } as const;
const INVALID_REQUEST = -32600;
const PARSE_ERROR = -32700;

async function initialized(server: ServerUnderTest): Promise<HttpClient> {
  const client = server.openHttp();
  await client.initialize();
  return client;
}

const post = (client: HttpClient, path: string, body: string): Promise<HttpAnswer> =>
  client.endpoint.send({ path, body, headers: client.headers() });

const codeOf = (answer: HttpAnswer): unknown => {
  const value = answer.body.length === 0 ? undefined : readFrame(answer.body).value;
  return isObject(value) && isObject(value.error) ? value.error.code : undefined;
};

export const http = section(
  "5.2",
  "HTTP",
  [
    rule("path", "MUST", "refuse a body whose method is not the path's with -32600"),
    rule("status-200", "MUST", "send every JSON-RPC response with status 200"),
    rule("content-type", "MUST", "send responses as application/json"),
    rule("transport-status", "MUST", "keep other statuses for what JSON-RPC never saw: 400, 404"),
    untried(
      "retry-after",
      "SHOULD",
      "send Retry-After with 429",
      "a rate limit is reached only by a load that harms others",
    ),
    clientRule("prefer-code", "SHOULD", "prefer the code in a 200 body"),
    rule("one-final-frame", "MUST", "end a stream with exactly one response; tried in §9"),
    rule("buffered", "MUST", "answer with one JSON response when the client asked for no stream"),
    rule("stateless-gate", "MUST", "without sessions, still refuse what is not advertised with -32003"),
    rule("auth-first", "MUST", "authenticate before initialize; tried in §15.6"),
    untried(
      "cors",
      "SHOULD",
      "set CORS headers and answer a preflight",
      "only a server for browsers needs to, and nothing tells whether this is one",
    ),
    clientRule("full-envelope", "MUST", "send full JSON-RPC 2.0 (§5.3)"),
  ],
  [
    check(
      "path",
      "a path that names another method than the body is refused with -32600",
      async (server) => {
        const client = await initialized(server);
        for (const path of ["/info", "/rcp-conformance-other", "/Ping"]) {
          const answer = await post(client, path, JSON.stringify(client.request("ping")));
          ensure(
            codeOf(answer) === INVALID_REQUEST,
            `ping at ${path} must be refused with ${INVALID_REQUEST}, not with HTTP ${answer.status} and ${show(answer.body.toString())}`,
          );
        }
      },
      HTTP,
    ),
    check(
      "status-200 content-type",
      "results and errors come with 200 and application/json",
      async (server) => {
        const client = await initialized(server);
        for (const method of ["ping", "rcp-conformance-no-such-method"]) {
          const { status, headers } = await post(client, `/${method}`, JSON.stringify(client.request(method)));
          ensure(status === 200, `${method} was answered with HTTP ${status}`);
          const type = headers["content-type"] ?? "";
          ensure(type.startsWith("application/json"), `${method} was answered as ${show(type)}`);
        }
      },
      HTTP,
    ),
    check(
      "transport-status",
      "a body that is not JSON gets 400, or 200 with -32700",
      async (server) => {
        const client = await initialized(server);
        for (const body of ["{", "nonsense", ""]) {
          const answer = await post(client, "/ping", body);
          const code = codeOf(answer);
          ensure(
            answer.status === 400 ||
              (answer.status === 200 && (code === PARSE_ERROR || (body === "" && code === INVALID_REQUEST))),
            `the body ${show(body)} was answered with HTTP ${answer.status} and ${show(answer.body.toString())}`,
          );
        }
      },
      HTTP,
    ),
    check(
      "transport-status",
      "GET is not a way to call: 404 or 405",
      async (server) => {
        const client = await initialized(server);
        const { status } = await client.endpoint.send({
          method: "GET",
          path: "/ping",
          headers: { ...client.headers() },
        });
        ensure(status === 404 || status === 405, `GET was answered with HTTP ${status}`);
      },
      HTTP,
    ),
    check(
      "transport-status",
      "a path that is off the base gets 404",
      async (server) => {
        const client = await initialized(server);
        const { status } = await post(client, "-conformance-no-such-base/ping", JSON.stringify(client.request("ping")));
        ensure(status === 404, `a path off the base was answered with HTTP ${status}`);
      },
      HTTP,
    ),
    check(
      "buffered",
      "without Accept: text/event-stream the answer is one JSON response, even with a progressToken",
      async (server) => {
        await server.capability("retrieve");
        const client = await initialized(server);
        const params = { query: "anything", k: 3, _meta: { progressToken: "buffered" } };
        const { headers, body } = await post(client, "/retrieve", JSON.stringify(client.request("retrieve", params)));
        const type = headers["content-type"] ?? "";
        ensure(type.startsWith("application/json"), `a client that wants JSON got ${show(type)}`);
        const { value } = readFrame(body);
        ensure(isObject(value) && isObject(value.result), `the answer is no response: ${show(value)}`);
      },
      HTTP,
    ),
    check(
      "4.4/unanswered",
      "a notification gets an empty body",
      async (server) => {
        const client = await initialized(server);
        const { status, body } = await post(
          client,
          "/ping",
          JSON.stringify({ jsonrpc: "2.0", method: "ping", params: {} }),
        );
        ensure(
          body.length === 0 && status >= 200 && status < 300,
          `a notification was answered with HTTP ${status} and ${show(body.toString())}`,
        );
      },
      HTTP,
    ),
    check(
      "stateless-gate",
      "without initialize, a method that is not advertised is refused with -32003, or -32001 where sessions are needed",
      async (server) => {
        const [method] = await unadvertisedMethods(server);
        need(method !== undefined, "every method is advertised");
        const client = server.open();
        await client.refusal(method, {}, -32003, -32001);
      },
      HTTP,
    ),
  ],
);
