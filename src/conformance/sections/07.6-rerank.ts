import { isObject, type Params } from "../../protocol/params.ts";
import { ensure, show } from "../outcome.ts";
import { check, rule, section } from "../rule.ts";

const PASSAGES = [
  "bread rises slowly in a cold kitchen",
  "the harbour wall was repaired",
  "a wall of the harbour",
  "comets return",
];
const RERANK = { query: "harbour wall", passages: PASSAGES };
const INVALID_PARAMS = -32602;
const OPTION_UNSUPPORTED = -32005;

const numbers = (value: unknown): readonly number[] => (Array.isArray(value) ? value.map(Number) : []);

/** @throws Violation when `order` is not best first, or names a passage twice or none */
function checkOrder({ scores, order }: Params): void {
  if (order === undefined) return;
  const [values, indices] = [numbers(scores), numbers(order)];
  ensure(new Set(indices).size === indices.length, `order names a passage twice: ${show(order)}`);
  ensure(
    indices.every((index) => index >= 0 && index < values.length),
    `order names no passage: ${show(order)}`,
  );
  const ordered = indices.map((index) => values[index] ?? 0);
  ensure(
    ordered.every((score, rank) => rank === 0 || score <= (ordered[rank - 1] ?? score)),
    `order ${show(order)} is not best first for ${show(scores)}`,
  );
}

export const rerank = section(
  "7.6",
  "rerank",
  [
    rule("scores", "MUST", "return one score for each passage, in their order"),
    rule("order", "MUST", "return order, if it does, best first"),
    rule("method", "MUST", "refuse a method that is not in rerank.methods with -32005"),
    rule("malformed", "MUST", "refuse malformed params with -32602 (§14.1)"),
  ],
  [
    check("scores order", "each passage has a score, and order is best first", async (server) => {
      const { methods } = await server.capability("rerank");
      const client = await server.shared();
      for (const method of [undefined, ...(Array.isArray(methods) ? methods : [])]) {
        const result = await client.result("rerank", { ...RERANK, ...(method !== undefined && { method }) });
        ensure(
          numbers(result.scores).length === PASSAGES.length,
          `${PASSAGES.length} passages have ${numbers(result.scores).length} scores`,
        );
        checkOrder(result);
      }
    }),
    check("order", "topN cuts order and leaves the scores", async (server) => {
      await server.capability("rerank");
      const result = await (await server.shared()).result("rerank", { ...RERANK, topN: 2 });
      ensure(numbers(result.scores).length === PASSAGES.length, "scores must have one for each passage");
      checkOrder(result);
      ensure(result.order === undefined || numbers(result.order).length <= PASSAGES.length, "order is too long");
    }),
    check("scores", "the same passages in another order have the same scores", async (server) => {
      await server.capability("rerank");
      const client = await server.shared();
      const scores = numbers((await client.result("rerank", RERANK)).scores);
      const reversed = numbers(
        (await client.result("rerank", { ...RERANK, passages: PASSAGES.toReversed() })).scores,
      ).toReversed();
      const far = scores.findIndex(
        (score, index) => Math.abs(score - (reversed[index] ?? Number.NaN)) > 1e-3 * Math.max(1, Math.abs(score)),
      );
      ensure(far === -1, `scores do not stand where their passages stood: ${show(scores)} and ${show(reversed)}`);
    }),
    check("method", "a method that is not advertised is refused with -32005", async (server) => {
      const { methods } = await server.capability("rerank");
      const advertised = Array.isArray(methods) ? methods : [];
      const other = ["cross-encoder", "colbert", "llm"].find((method) => !advertised.includes(method)) ?? "unheard-of";
      const { data } = await (await server.shared()).refusal(
        "rerank",
        { ...RERANK, method: other },
        OPTION_UNSUPPORTED,
      );
      ensure(data.option === undefined || typeof data.option === "string", "error.data.option must be a string");
    }),
    check(
      "malformed",
      "a missing query, passages that are no list, and topN 0 are refused with -32602",
      async (server) => {
        await server.capability("rerank");
        const client = await server.shared();
        for (const params of [
          { passages: PASSAGES },
          { query: "x" },
          { query: "x", passages: "x" },
          { query: "x", passages: [5] },
          { ...RERANK, topN: 0 },
          { ...RERANK, topN: "2" },
        ])
          await client.refusal("rerank", params, INVALID_PARAMS);
        const { error } = await client.call("rerank", { ...RERANK, passages: [] });
        ensure(
          error === undefined || (isObject(error) && error.code === INVALID_PARAMS),
          `no passages were answered with ${show(error)}`,
        );
      },
    ),
  ],
);
