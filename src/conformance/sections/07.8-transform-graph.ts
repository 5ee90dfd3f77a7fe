import { isObject } from "../../protocol/params.ts";
import { ensure, show } from "../outcome.ts";
import { check, rule, section } from "../rule.ts";

const METHODS = ["rewrite", "hyde", "multi-query", "decompose", "step-back"];
const OPS = ["local", "global", "drift", "communities", "neighbors"];
const INVALID_PARAMS = -32602;
const OPTION_UNSUPPORTED = -32005;

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const transform = section(
  "7.8",
  "query/transform",
  [
    rule("methods", "MUST", "answer each advertised method in its shape, and refuse others with -32005"),
    rule("hyde", "MUST", "return the document of hyde in hypothetical"),
    rule("malformed", "MUST", "refuse malformed params with -32602 (§14.1)"),
  ],
  [
    check("methods hyde", "each advertised method answers", async (server) => {
      const { methods } = await server.capability("transform");
      const client = await server.shared();
      for (const method of listOf(methods)) {
        const { queries, hypothetical } = await client.result("query/transform", {
          query: "Why was the harbour wall repaired?",
          method,
          n: 2,
        });
        if (method === "hyde")
          ensure(typeof hypothetical === "string" && hypothetical !== "", "hyde gave no hypothetical");
        else ensure(listOf(queries).length > 0, `${show(method)} gave no queries`);
      }
    }),
    check("methods", "a method that is not advertised is refused with -32005", async (server) => {
      const { methods } = await server.capability("transform");
      const client = await server.shared();
      const others = METHODS.filter((method) => !listOf(methods).includes(method));
      for (const method of [...others, "unheard-of"])
        await client.refusal("query/transform", { query: "x", method }, OPTION_UNSUPPORTED);
    }),
    check("malformed", "a missing query or method, and n of 0, are refused with -32602", async (server) => {
      const { methods } = await server.capability("transform");
      const [method] = listOf(methods);
      const client = await server.shared();
      for (const params of [
        { method },
        { query: "x" },
        { query: 5, method },
        { query: "x", method, n: 0 },
        { query: "x", method, n: "2" },
      ])
        await client.refusal("query/transform", params, INVALID_PARAMS);
    }),
    check("15.5/fan-out", "a huge n does not give as many queries", async (server) => {
      const { methods } = await server.capability("transform");
      const method = listOf(methods).find((one) => one === "multi-query" || one === "decompose") ?? listOf(methods)[0];
      const { result, error } = await (await server.shared()).call("query/transform", {
        query: "x",
        method,
        n: 1_000_000,
      });
      if (isObject(error))
        return ensure(
          [-32602, -32011, -32013].includes(Number(error.code)),
          `n 1000000 was refused with ${show(error.code)}`,
        );
      ensure(isObject(result) && listOf(result.queries).length <= 1_000, "n 1000000 gave more than 1000 queries");
    }),
  ],
);

export const graph = section(
  "7.9",
  "graph",
  [rule("ops", "MUST", "answer each advertised op in its shape, and refuse others with -32005")],
  [
    check("ops", "each advertised op answers with what belongs to it", async (server) => {
      const { ops } = await server.capability("graph");
      const client = await server.shared();
      const members: Readonly<Record<string, string>> = {
        local: "hits",
        global: "summary",
        drift: "hits",
        communities: "communities",
        neighbors: "nodes",
      };
      for (const op of listOf(ops)) {
        const result = await client.result("graph", { op, query: "harbour", k: 3, seedIds: ["a"], hops: 1 });
        const member = members[String(op)];
        ensure(member === undefined || Object.hasOwn(result, member), `op ${show(op)} came without ${member}`);
      }
    }),
    check("ops", "an op that is not advertised is refused with -32005", async (server) => {
      const { ops } = await server.capability("graph");
      const client = await server.shared();
      const others = OPS.filter((op) => !listOf(ops).includes(op));
      for (const op of [...others, "unheard-of"])
        await client.refusal("graph", { op, query: "x", k: 1, seedIds: ["a"] }, OPTION_UNSUPPORTED);
    }),
    check("ops", "a missing op, and k of 0, are refused with -32602", async (server) => {
      const { ops } = await server.capability("graph");
      const client = await server.shared();
      await client.refusal("graph", { query: "x" }, INVALID_PARAMS);
      await client.refusal("graph", { op: listOf(ops)[0], query: "x", k: 0 }, INVALID_PARAMS);
    }),
  ],
);
