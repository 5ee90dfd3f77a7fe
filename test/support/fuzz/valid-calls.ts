import fc from "fast-check";
import { METHOD_NAMES } from "../../../src/protocol/methods.ts";
import { randomFilter, randomMeta } from "../random-filter.ts";
import { SeededRandom } from "../seeded-random.ts";

/** Params as a client means them, of every method; with what another tenant holds among the values. */

/** What callers may name: their own things, another tenant's, and nobody's. */
export interface Names {
  readonly docIds: readonly string[];
  readonly cursors: readonly string[];
  readonly versions: readonly string[];
  readonly keys: readonly string[];
}

type Params = fc.Arbitrary<Readonly<Record<string, unknown>>>;

const words = fc.constantFrom(
  "amber",
  "zircon",
  "quartz",
  "of",
  "stone",
  "\u65e5\u672c\u8a9e",
  "caf\u00e9",
  "100%",
  "\u{1f600}",
);
const text = fc.array(words, { minLength: 1, maxLength: 8 }).map((list) => list.join(" "));
const block = fc.oneof(
  text,
  text.map((one) => ({ type: "text", text: one })),
);
const content = fc.oneof(
  block,
  fc.array(
    text.map((one) => ({ type: "text", text: one })),
    { minLength: 1, maxLength: 3 },
  ),
);
const seeded = fc.nat().map((seed) => new SeededRandom(seed));

/** A filter that the server's fields allow. */
export const validFilter: fc.Arbitrary<unknown> = fc
  .tuple(seeded, fc.integer({ min: 1, max: 5 }))
  .map(([random, depth]) => randomFilter(random, depth));

/** The value, in some of the cases. */
const some = (members: Readonly<Record<string, fc.Arbitrary<unknown>>>, required: readonly string[] = []): Params =>
  fc.record(members, { requiredKeys: [...required] }) as Params;

export function validParams({ docIds, cursors, versions, keys }: Names): Readonly<Record<string, Params>> {
  const k = fc.integer({ min: 1, max: 20 });
  const meta = some({
    deadlineMs: fc.constantFrom(5_000, 60_000),
    traceId: fc.constant("trace-1"),
    progressToken: fc.constantFrom<unknown>(1, "p", 0, ""),
    logLevel: fc.constantFrom("debug", "info", "error"),
    idempotencyKey: fc.constantFrom(...keys),
  });
  const document = some(
    {
      id: fc.constantFrom(...docIds),
      text,
      meta: seeded.map(randomMeta),
    },
    ["text"],
  );
  const retrieve = some(
    {
      query: content,
      k,
      mode: fc.constantFrom("dense", "sparse", "hybrid"),
      candidateK: fc.integer({ min: 20, max: 200 }),
      minScore: fc.constantFrom(0, 0.1, -1),
      fusion: fc.constantFrom(
        { method: "rrf", rrfK: 60 },
        { method: "weighted", weights: { dense: 1, sparse: 2 } },
        { method: "convex", alpha: 0.5 },
      ),
      filter: validFilter,
      unit: fc.constantFrom("chunk", "document"),
      mmr: fc.constant({ lambda: 0.5 }),
      recency: fc.constant({ field: "published", halfLifeDays: 10 }),
      tokenBudget: fc.constantFrom(1, 50, 5_000),
      rerank: fc.constantFrom<unknown>(true, {}, { topN: 20 }),
      rewrite: fc.constantFrom<unknown>(false, "rewrite", "multi-query"),
      sessionId: fc.constantFrom("T", "conversation"),
      cursor: fc.constantFrom(...cursors),
      includeText: fc.boolean(),
      includeVectors: fc.boolean(),
      indexVersion: fc.constantFrom(...versions),
      seed: fc.nat(),
      strict: fc.boolean(),
      _meta: meta,
    },
    ["query"],
  );
  const others = {
    initialize: some(
      {
        protocolVersion: fc.constantFrom(1, 2),
        client: fc.constant({ name: "fuzz", version: "1" }),
        capabilities: fc.constantFrom({}, { log: {} }),
      },
      ["protocolVersion"],
    ),
    info: some({ _meta: meta }),
    ping: some({ nonce: fc.constantFrom<unknown>(1, "n") }),
    shutdown: some({}),
    embed: some(
      {
        inputs: fc.array(block, { minLength: 1, maxLength: 4 }),
        kind: fc.constantFrom("query", "document"),
        encoding: fc.constantFrom("json", "f32-base64"),
        _meta: meta,
      },
      ["inputs"],
    ),
    rerank: some({ query: text, passages: fc.array(text, { minLength: 1, maxLength: 5 }), topN: k, _meta: meta }, [
      "query",
      "passages",
    ]),
    retrieve,
    "query/transform": some(
      {
        query: text,
        method: fc.constantFrom("rewrite", "hyde", "multi-query", "decompose", "step-back"),
        n: k,
        _meta: meta,
      },
      ["query"],
    ),
    "index/add": some(
      {
        documents: fc.array(document, { minLength: 1, maxLength: 3 }),
        chunk: fc.boolean(),
        contextual: fc.boolean(),
        _meta: meta,
      },
      ["documents"],
    ),
    "index/delete": some({ ids: fc.array(fc.constantFrom(...docIds), { maxLength: 3 }), _meta: meta }, ["ids"]),
    feedback: some(
      {
        signals: fc.array(
          fc.record(
            { hitId: fc.constantFrom(...docIds), relevant: fc.boolean(), poisonSuspected: fc.boolean() },
            { requiredKeys: ["hitId"] },
          ),
          { minLength: 1, maxLength: 3 },
        ),
        sessionId: fc.constant("T"),
        query: text,
      },
      ["signals"],
    ),
    "catalog/list": some({ _meta: meta }),
  };
  // What is not built is asked for all the same.
  const rest = METHOD_NAMES.filter((name) => !(name in others)).map((name) => [
    name,
    some({ query: text, _meta: meta }),
  ]);
  return {
    ...others,
    ...Object.fromEntries(rest),
    "notifications/cancel": some({ id: fc.constantFrom<unknown>(1, "a") }),
    "no/such": some({ query: text }),
  };
}

/** A call, and how often each method is asked for: the ones that do most, most. */
export function validCall(names: Names): fc.Arbitrary<{ readonly method: string; readonly message: unknown }> {
  const weight = (method: string) =>
    ({ retrieve: 8, "index/add": 4, "index/delete": 2, embed: 2, rerank: 2, feedback: 2 })[method] ?? 1;
  const id = fc.oneof(fc.nat(), fc.constantFrom<unknown>(0, "", "a", -1, 1.5, "\ud800", "\u{1f600}", 9007199254740991));
  return fc.oneof(
    ...Object.entries(validParams(names)).map(([method, params]) => ({
      weight: weight(method),
      arbitrary: fc
        .tuple(id, params)
        .map(([id, params]) => ({ method, message: { jsonrpc: "2.0", id, method, params } })),
    })),
  );
}
