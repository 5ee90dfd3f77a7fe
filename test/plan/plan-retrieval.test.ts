import { describe, expect, test } from "vitest";
import { filterFields } from "../../src/plan/filter-fields.ts";
import { planRetrieval, type RetrievalOffer } from "../../src/plan/plan-retrieval.ts";
import { RpcError } from "../../src/protocol/errors.ts";

const offer: RetrievalOffer = {
  modes: ["dense", "sparse", "hybrid"],
  defaultMode: "hybrid",
  fusion: ["rrf", "weighted"],
  defaultFusion: { method: "weighted", alpha: 0.6, rrfK: 60 },
  maxK: 100,
  defaultCandidateK: 100,
  maxCandidateK: 1000,
  fields: filterFields({ year: "int" }),
  filterLimits: { maxDepth: 32, maxNodes: 512, maxListLength: 1000, maxValueBytes: 4096 },
  maxQueryBytes: 20,
  maxSessionIdBytes: 256,
};

const plan = (params: Record<string, unknown>, changes: Partial<RetrievalOffer> = {}) =>
  planRetrieval({ query: "test", ...params }, { ...offer, ...changes });

function refusal(params: Record<string, unknown>, changes: Partial<RetrievalOffer> = {}) {
  try {
    plan(params, changes);
  } catch (error) {
    if (error instanceof RpcError) return { code: error.code, field: error.data.field, option: error.data.option };
    throw error;
  }
  return "accepted";
}

const invalid = (field: string) => ({ code: -32602, field, option: undefined });
const unsupported = (option: string) => ({ code: -32005, field: undefined, option });

test("without options: ten hits, the default mode and fusion, text shown, vectors not", () => {
  expect(plan({})).toEqual({
    query: "test",
    recall: { mode: "hybrid", fusion: { method: "weighted", weights: { dense: 1, sparse: 1 } } },
    k: 10,
    candidateK: 100,
    filter: undefined,
    minScore: undefined,
    includeText: true,
    includeVectors: false,
    indexVersion: undefined,
    notes: [],
  });
});

describe("the funnel candidateK ≥ k (RCP §7.7, DESIGN ruling 6)", () => {
  test.each([
    [{ k: 10, candidateK: 9 }, invalid("candidateK")],
    [{ k: 1100, candidateK: 500 }, invalid("candidateK")],
    [{ k: 0 }, invalid("k")],
    [{ k: 1.5 }, invalid("k")],
    [{ k: "5" }, invalid("k")],
    [{ candidateK: 1e308 }, invalid("candidateK")],
  ])("%j is refused", (params, expected) => expect(refusal(params)).toEqual(expected));

  test.each([
    [{ k: 500, candidateK: 500 }, 100, 500],
    [{ k: 50, candidateK: 1_000_000 }, 50, 1000],
    [{ k: Number.MAX_SAFE_INTEGER }, 100, 100],
    [{ k: null, candidateK: null }, 10, 100],
  ])("%j is clamped to k %i and candidateK %i", (params, k, candidateK) =>
    expect(plan(params)).toMatchObject({ k, candidateK }),
  );

  test("a small default candidateK never undercuts k", () =>
    expect(plan({ k: 80 }, { defaultCandidateK: 50 }).candidateK).toBe(80));
});

describe("options that are not on offer", () => {
  test.each([
    [{ mode: "bm25" }, "mode"],
    [{ mode: "__proto__" }, "mode"],
    [{ fusion: { method: "convex" } }, "fusion.method"],
    [{ rerank: { method: "cross-encoder" } }, "rerank"],
    [{ mmr: { lambda: 0.5 } }, "mmr"],
    [{ rewrite: "hyde" }, "rewrite"],
    [{ recency: { field: "year", halfLifeDays: 3 } }, "recency"],
    [{ unit: "document" }, "unit"],
    [{ level: 1 }, "level"],
    [{ tokenBudget: 10 }, "tokenBudget"],
    [{ cursor: "abc" }, "cursor"],
    [{ modality: "image" }, "modality"],
  ])("%j is -32005, or a note under strict: false", (params, option) => {
    expect(refusal(params)).toEqual(unsupported(option));
    expect(plan({ ...params, strict: false }).notes).toEqual([expect.stringContaining(`${option} was left out`)]);
  });

  test("rerank: false and rewrite: false ask for nothing", () =>
    expect(plan({ rerank: false, rewrite: false }).notes).toEqual([]));
  test("a filter is an option like any other where filtering is off", () =>
    expect(refusal({ filter: { field: "year", op: "eq", value: 1 } }, { fields: undefined })).toEqual(
      unsupported("filter"),
    ));
  test("a string does not switch strictness off", () =>
    expect(refusal({ mode: "bm25", strict: "false" })).toEqual(invalid("strict")));
});

describe("fusion", () => {
  test.each([
    [{ method: "rrf", rrfK: -60 }, invalid("fusion.rrfK")],
    [{ method: "weighted", weights: { dense: "x" } }, invalid("fusion.weights.dense")],
    [{ method: "weighted", weights: { dense: -1, sparse: 1 } }, invalid("fusion.weights.dense")],
    [{ method: "weighted", weights: { dense: 0 } }, invalid("fusion.weights")],
    [{ alpha: 1.1 }, invalid("fusion.alpha")],
    [{ method: 1 }, invalid("fusion.method")],
    ["rrf", invalid("fusion")],
  ])("%j is refused", (fusion, expected) => expect(refusal({ fusion })).toEqual(expected));

  test("rrf weighs both lists alike unless told otherwise", () =>
    expect(plan({ fusion: { method: "rrf" } }).recall).toEqual({
      mode: "hybrid",
      fusion: { method: "rrf", rrfK: 60, weights: { dense: 1, sparse: 1 } },
    }));
});

describe("query (RCP §4.8)", () => {
  test("text blocks are joined and U+0000 is a break between words", () => {
    expect(
      plan({
        query: [
          { type: "text", text: "a\u0000b" },
          { type: "text", text: "c" },
        ],
      }).query,
    ).toBe("a b\nc");
    expect(plan({ query: "" }).query).toBe("");
  });

  test.each([
    [null, invalid("query")],
    [1, invalid("query")],
    [{}, invalid("query")],
    [{ type: "video" }, invalid("query.type")],
    [{ type: "text" }, invalid("query.text")],
    [{ type: "text", text: "a", uri: "http://x/" }, invalid("query.uri")],
    [[{ type: "text", text: "a" }, 1], invalid("query[1]")],
    [{ type: "image", mimeType: "image/png", data: "AA" }, unsupported("query.type")],
    [{ type: "image", mimeType: "image/png", data: "AA", uri: "http://x/" }, invalid("query")],
    ["\ud800", invalid("query")],
    ["x".repeat(21), { code: -32013, field: "query", option: undefined }],
    ["\u6f22".repeat(7), { code: -32013, field: "query", option: undefined }],
  ])("%j is refused", (query, expected) => expect(refusal({ query })).toEqual(expected));
});

test.each([
  [{ minScore: [] }, "minScore"],
  [{ includeText: "yes" }, "includeText"],
  [{ includeVectors: 1 }, "includeVectors"],
  [{ seed: 1.5 }, "seed"],
  [{ sessionId: 1 }, "sessionId"],
  [{ sessionId: "" }, "sessionId"],
  [{ indexVersion: 1 }, "indexVersion"],
  [{ indexVersion: "a\u0000" }, "indexVersion"],
  [{ indexVersion: "\ud800" }, "indexVersion"],
  [{ filter: { field: "lang", op: "eq", value: "en" } }, "filter.field"],
])("%j is -32602", (params, field) => expect(refusal(params)).toEqual(invalid(field)));

test("inherited params do not count", () => {
  const inherited: Record<string, unknown> = Object.create({ query: "x", k: 1 });
  expect(() => planRetrieval(inherited, offer)).toThrow(RpcError);
});
