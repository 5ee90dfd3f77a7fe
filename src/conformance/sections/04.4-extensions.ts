import { isObject } from "../../protocol/params.ts";
import { ensure, show } from "../outcome.ts";
import { check, rule, section } from "../rule.ts";

const UNKNOWN_META = { "x-conformance": { nested: [1, "two", null] }, traceId: "conformance", unheardOf: true };

export const extensions = section(
  "4.4",
  "_meta, extensions and notifications",
  [
    rule("meta", "MUST", "ignore keys of _meta that it does not know"),
    rule("unanswered", "MUST NOT", "answer a message without an id (§4.5)"),
    rule("unknown-notification", "MUST", "ignore a notifications/* method that it does not know (§4.5)"),
  ],
  [
    check("meta", "unknown keys of _meta change nothing", async (server) => {
      const client = await server.shared();
      const { nonce } = await client.result("ping", { nonce: 1, _meta: UNKNOWN_META });
      ensure(nonce === 1, `the nonce 1 came back as ${show(nonce)}`);
      await client.result("info", { _meta: UNKNOWN_META });
    }),
    check("meta", "unknown keys of _meta on retrieve change nothing", async (server) => {
      await server.capability("retrieve");
      const client = await server.shared();
      await client.result("retrieve", { query: "anything", k: 1, _meta: UNKNOWN_META });
    }),
    check("unanswered", "a method that is sent without an id is not answered", async (server) => {
      const client = await server.shared();
      for (const method of ["ping", "info"]) await client.tell({ jsonrpc: "2.0", method, params: {} });
    }),
    check(
      "unanswered",
      "an unknown method that is sent without an id is not answered, not even with an error",
      async (server) => {
        const client = await server.shared();
        await client.tell({ jsonrpc: "2.0", method: "rcp-conformance-no-such-method", params: {} });
        await client.tell({ jsonrpc: "2.0", method: "retrieve", params: { query: 5 } });
      },
    ),
    check(
      "unknown-notification",
      "notifications/* that nobody defined is ignored, and the next request is answered",
      async (server) => {
        const client = await server.shared();
        await client.tell({ jsonrpc: "2.0", method: "notifications/rcp-conformance", params: { any: "thing" } });
        await client.tell({ jsonrpc: "2.0", method: "notifications/rcp-conformance" });
        const { value } = await client.ask(client.request("ping"));
        ensure(isObject(value) && isObject(value.result), "ping after an unknown notification was not answered");
      },
    ),
    check("unanswered", "a notification before initialize is not answered either", async (server) => {
      const client = server.open();
      await client.tell({ jsonrpc: "2.0", method: "retrieve", params: { query: "x", k: 1 } });
      await client.tell({ jsonrpc: "2.0", method: "notifications/cancel", params: { id: 99 } });
    }),
  ],
);
