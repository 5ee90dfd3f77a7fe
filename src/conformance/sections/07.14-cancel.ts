import { isObject } from "../../protocol/params.ts";
import { ensure, show } from "../outcome.ts";
import { check, clientRule, rule, section, untried } from "../rule.ts";

const CANCELLED = -32006;
const INVALID_REQUEST = -32600;

const cancelOf = (id: string | number) => ({
  jsonrpc: "2.0",
  method: "notifications/cancel",
  params: { id, reason: "tried" },
});

export const cancel = section(
  "7.14",
  "notifications/cancel",
  [
    untried(
      "stop",
      "SHOULD",
      "stop work for a request that is cancelled",
      "what a server works on is not seen from outside",
    ),
    rule("one-response", "MUST", "still answer a cancelled request once: its result, or -32006"),
    rule("unknown-id", "MUST", "ignore a cancel of an id that is unknown or answered"),
    clientRule("tolerate", "MUST", "take a result that comes after its cancel"),
    rule("with-id", "MUST", "refuse a cancel that has an id as no request (Appendix E)"),
  ],
  [
    check("unknown-id", "a cancel of an id that never was is not answered and changes nothing", async (server) => {
      const client = await server.shared();
      for (const id of [12_345, "never", 0, ""]) await client.tell(cancelOf(id));
      await client.tell({ jsonrpc: "2.0", method: "notifications/cancel", params: {} });
      await client.tell({ jsonrpc: "2.0", method: "notifications/cancel" });
      const { nonce } = await client.result("ping", { nonce: "alive" });
      ensure(nonce === "alive", "ping after a cancel was answered otherwise");
    }),
    check("unknown-id", "a cancel of an id that was answered is ignored", async (server) => {
      const client = await server.shared();
      await client.ask(client.request("ping", {}, "answered"));
      await client.tell(cancelOf("answered"));
      await client.ask(client.request("ping", {}, "answered"));
    }),
    check(
      "one-response 13.1/once",
      "requests that are cancelled in flight are answered once each, with a result or -32006",
      async (server) => {
        await server.capability("retrieve");
        const client = await server.session();
        const ids = ["cancel-1", "cancel-2", "cancel-3"];
        const slow = ids.map((id) =>
          client.request("retrieve", { query: "the harbour and the sea and the wall ".repeat(40), k: 10 }, id),
        );
        const { frames } = await client.exchange([...slow, ...ids.map(cancelOf)], ids.length);
        for (const id of ids) {
          const own = frames.map(({ value }) => value).filter((value) => isObject(value) && value.id === id);
          ensure(own.length === 1, `${id} was answered ${own.length} times`);
          const [response] = own;
          const error = isObject(response) ? response.error : undefined;
          ensure(
            error === undefined || (isObject(error) && error.code === CANCELLED),
            `${id} was answered with ${show(error)}`,
          );
        }
      },
    ),
    check("one-response unknown-id", "a cancel does not touch another request in flight", async (server) => {
      await server.capability("retrieve");
      const client = await server.session();
      const kept = client.request("retrieve", { query: "the harbour and the sea", k: 5 }, "kept");
      const { frames } = await client.exchange([kept, cancelOf("kept-not"), cancelOf(0)], 1);
      const [value] = frames.map((frame) => frame.value);
      ensure(isObject(value) && value.id === "kept" && isObject(value.result), `it was answered with ${show(value)}`);
    }),
    check("with-id", "a cancel that has an id is refused with -32600", async (server) => {
      const client = await server.shared();
      const { value } = await client.ask({ ...cancelOf("x"), id: 5 });
      const error = isObject(value) ? value.error : undefined;
      ensure(isObject(error) && error.code === INVALID_REQUEST, `a cancel with an id was answered with ${show(value)}`);
    }),
  ],
);
