import { isDeepStrictEqual } from "node:util";
import type { MethodName } from "../../protocol/methods.ts";
import { isObject, type Params } from "../../protocol/params.ts";
import { ensure, need, show } from "../outcome.ts";
import { check, rule, section } from "../rule.ts";
import type { ServerUnderTest } from "../server-under-test.ts";

/** RCP §7: each optional method and the capability that gates it. */
export const GATED: readonly (readonly [MethodName, string])[] = [
  ["embed", "embed"],
  ["embed/sparse", "sparseEmbed"],
  ["embed/multi", "multiVector"],
  ["rerank", "rerank"],
  ["retrieve", "retrieve"],
  ["query/transform", "transform"],
  ["graph", "graph"],
  ["index/add", "index"],
  ["index/delete", "index"],
  ["catalog/list", "catalog"],
  ["feedback", "feedback"],
  ["memory/build", "memory"],
  ["memory/recall", "memory"],
];

/** Optional methods that the server does not advertise. */
export async function unadvertisedMethods(server: ServerUnderTest): Promise<readonly MethodName[]> {
  const advertised = await server.capabilities();
  return GATED.filter(([, key]) => !Object.hasOwn(advertised, key)).map(([method]) => method);
}

const first = (value: unknown): unknown => (Array.isArray(value) ? value[0] : undefined);

/** Params that a server with this capability can serve, and that change nothing. */
export function validParams(method: string, capability: Params): Params {
  switch (method) {
    case "embed":
    case "embed/multi":
      return { inputs: ["a harbour"] };
    case "embed/sparse":
      return { texts: ["a harbour"] };
    case "rerank":
      return { query: "a harbour", passages: ["a harbour", "bread"] };
    case "retrieve":
      return { query: "a harbour", k: 1 };
    case "query/transform":
      return { query: "a harbour", method: first(capability.methods) };
    case "graph":
      return { op: first(capability.ops), query: "a harbour", k: 1, seedIds: ["a"], hops: 1 };
    case "index/add":
      return { documents: [] };
    case "index/delete":
      return { ids: [] };
    case "feedback":
      return { signals: [] };
    case "memory/recall":
      return { query: "a harbour" };
    default:
      return {};
  }
}

export const methods = section(
  "7",
  "Methods, initialize, info, ping, shutdown",
  [
    rule("initialize", "MUST", "answer initialize"),
    rule("info", "MUST", "answer info"),
    rule("ping", "MUST", "answer ping"),
    rule("shutdown", "MUST", "answer shutdown with an empty result (§7.12)"),
    rule("capability-missing", "MUST", "refuse a method that RCP defines and it does not advertise with -32003"),
    rule("unknown-method", "MUST", "refuse a method that RCP does not define with -32004"),
    rule("nonce", "MUST", "echo a nonce of ping (§7.15)"),
    rule("info-shape", "MUST", "give info the shape of initialize's result, and change nothing (§7.2)"),
  ],
  [
    check("initialize info ping", "initialize, info and ping are answered", async (server) => {
      const client = server.open();
      await client.result("info");
      await client.result("ping");
      const { error } = await client.initialize();
      const isTaken = client.kind === "http" && isObject(error) && error.code === -32600;
      ensure(client.initialized !== undefined || isTaken, `initialize was refused: ${show(error)}`);
      await client.result("info");
      await client.result("ping");
    }),
    check("shutdown", "shutdown is answered with a result", async (server) => {
      const client = await server.session();
      need(
        client.kind === "stdio" || isObject(client.initialized?._meta),
        "without a session it could stop the server for others",
      );
      await client.result("shutdown");
    }),
    check(
      "shutdown 13/exempt",
      "shutdown before initialize is answered",
      async (server) => {
        const client = server.openProcess();
        await client.result("shutdown");
      },
      { transport: "stdio" },
    ),
    check("capability-missing", "each method that is not advertised is refused with -32003", async (server) => {
      const missing = await unadvertisedMethods(server);
      need(missing.length > 0, "every method is advertised");
      const client = await server.session();
      const may = { "index/add": "add", "index/delete": "delete" } as const;
      for (const method of missing) {
        const caller = method === "index/add" || method === "index/delete" ? await server.session(may[method]) : client;
        await caller.refusal(method, validParams(method, {}), -32003);
      }
    }),
    check(
      "unknown-method",
      "a method that nobody defined is refused with -32004, also x- ones and names that objects inherit",
      async (server) => {
        const client = await server.session();
        const names = [
          "rcp-conformance",
          "retrieve/all",
          "Retrieve",
          "x-conformance/none",
          "constructor",
          "toString",
          "__proto__",
          "",
        ];
        for (const method of names) await client.refusal(method, {}, -32004);
      },
    ),
    check("nonce", "ping echoes its nonce exactly", async (server) => {
      const client = await server.shared();
      for (const nonce of [0, "", 1, -1.5, 2 ** 53 - 1, "nonce", "日本 🧭", "0"]) {
        const { nonce: echoed } = await client.result("ping", { nonce });
        ensure(echoed === nonce, `the nonce ${show(nonce)} came back as ${show(echoed)}`);
      }
      ensure(!Object.hasOwn(await client.result("ping"), "nonce"), "ping without a nonce was answered with one");
    }),
    check("info-shape 13.2/info", "info reports what initialize did", async (server) => {
      const client = await server.session();
      need(client.initialized !== undefined, "this server has initialized already, for all its callers");
      const info = await client.result("info");
      for (const member of ["protocolVersion", "server", "capabilities"])
        ensure(
          isDeepStrictEqual(info[member], client.initialized[member]),
          `info has another ${member} than initialize`,
        );
    }),
  ],
);
