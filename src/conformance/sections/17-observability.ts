import { isObject } from "../../protocol/params.ts";
import { INITIALIZE } from "../client.ts";
import { ensure, show } from "../outcome.ts";
import { check, clientRule, rule, section } from "../rule.ts";

const LEVELS = ["debug", "info", "notice", "warning", "error"];

export const observability = section(
  "17",
  "Observability",
  [
    rule("log-level", "SHOULD", "honour the client's _meta.logLevel (§17.1)"),
    rule("log-opt-in", "SHOULD", "log only to a client that advertised log (§17.1)"),
    clientRule("drop-logs", "MUST", "work without logs, and never parse them (§17.1)"),
    rule("usage", "SHOULD", "send usage with a retrieve (§17.2)"),
  ],
  [
    check("log-level", "a client that asks for errors gets no lower level", async (server) => {
      await server.capability("log");
      const client = await server.session("read", {
        ...INITIALIZE,
        capabilities: { log: {} },
        _meta: { logLevel: "error" },
      });
      const requests = [
        client.request("retrieve", { query: "harbour", k: 2 }),
        client.request("retrieve", { query: "x", k: 0 }),
      ];
      const { frames } = await client.exchange(requests, 2, { optedIn: true });
      const levels = frames.flatMap(({ value }) =>
        isObject(value) && value.method === "notifications/log" && isObject(value.params) ? [value.params.level] : [],
      );
      const lower = levels.filter((level) => LEVELS.indexOf(String(level)) < LEVELS.indexOf("error"));
      ensure(lower.length === 0, `a client that asked for errors got ${show(lower)}`);
    }),
    check(
      "log-opt-in",
      "no log of the whole run went to a client that had not asked",
      async (server) => {
        const unasked = server.seen.notifications.filter(
          ({ method, optedIn }) => method === "notifications/log" && !optedIn,
        );
        ensure(unasked.length === 0, `${unasked.length} logs came unasked`);
      },
      { last: true },
    ),
    check("usage", "a trace id in _meta is no error", async (server) => {
      await server.capability("retrieve");
      await (await server.shared()).result("retrieve", { query: "x", k: 1, _meta: { traceId: "rcp-conformance-1" } });
    }),
  ],
);
