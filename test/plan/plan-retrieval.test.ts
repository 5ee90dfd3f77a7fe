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
  maxNearDuplicates: 3,
  fields: filterFields({ year: "int", published: "date", seen: "date[]" }),
  filterLimits: { maxDepth: 32, maxNodes: 512, maxListLength: 1000, maxValueBytes: 4096 },
  maxQueryBytes: 20,
  maxSessionIdBytes: 256,
  maxHitCharacters: 5000,
  rerank: { method: "cross-encoder", model: "the-model", maxCandidates: 200 },
  rewrite: ["rewrite", "hyde"],
  mmr: true,
  recency: true,
  units: ["chunk", "document"],
  tokenBudget: true,
  snapshots: true,
  pagination: true,
  dedup: true,
};
/** Nothing that can be switched off. */
const PLAIN: Partial<RetrievalOffer> = {
  rerank: undefined,
  rewrite: [],
  mmr: false,
  recency: false,
  units: ["chunk"],
  tokenBudget: false,
  snapshots: false,
  pagination: false,
  dedup: false,
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
    rewrite: undefined,
    recall: { mode: "hybrid", fusion: { method: "weighted", weights: { dense: 1, sparse: 1 } } },
    k: 10,
    candidateK: 100,
    firstCandidateK: 100,
    maxCandidateK: 1000,
    maxNearDuplicates: 3,
    filter: undefined,
    unit: "chunk",
    rerank: undefined,
    recency: undefined,
    minScore: undefined,
    mmr: undefined,
    tokenBudget: undefined,
    maxHitCharacters: 5000,
    includeText: true,
    includeVectors: false,
    seed: undefined,
    indexVersion: undefined,
    sessionId: undefined,
    cursor: undefined,
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

describe("no more candidates are looked for at first than a page needs: half as many again as hits and five, at least twenty", () => {
  test.each([
    [{}, 20],
    [{ k: 11 }, 22],
    [{ k: 1 }, 20],
    [{ k: 100 }, 100],
    [{ minScore: 0.5, tokenBudget: 50, seed: 1 }, 20],
  ])("of one ranked list: %j", (params, first) => {
    expect(plan({ mode: "dense", ...params })).toMatchObject({ candidateK: 100, firstCandidateK: first });
  });

  test.each([
    { mode: "hybrid" },
    { mode: "sparse" },
    { candidateK: 60 },
    { unit: "document" },
    { mmr: {} },
    { recency: { field: "published" } },
    { rerank: {} },
    { rewrite: "hyde" },
    { sessionId: "s" },
    { cursor: "c" },
  ])("but all where another stage looks at more: %j", (params) => {
    const { candidateK, firstCandidateK } = plan({ mode: "dense", ...params });
    expect(firstCandidateK).toBe(candidateK);
  });
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
    [{ modality: "image" }, "modality"],
  ])("%j is -32005, or a note under strict: false", (params, option) => {
    expect(refusal(params, PLAIN)).toEqual(unsupported(option));
    expect(plan({ ...params, strict: false }, PLAIN)).toEqual({
      ...plan({}, PLAIN),
      notes: [expect.stringContaining(`${option} was left out`)],
    });
  });

  test.each([
    [{ cursor: "abc" }, "cursor"],
    [{ indexVersion: "v1" }, "indexVersion"],
  ])("%j is -32005 also under strict: false, for nothing can stand in its place", (params, option) => {
    expect(refusal(params, PLAIN)).toEqual(unsupported(option));
    expect(refusal({ ...params, strict: false }, PLAIN)).toEqual(unsupported(option));
  });

  test("a sessionId is a hint, so it is ignored where trajectories are off", () => {
    expect(plan({ sessionId: "s" }, PLAIN)).toEqual(plan({}, PLAIN));
    expect(refusal({ sessionId: 1 }, PLAIN)).toEqual(invalid("sessionId"));
  });

  test.each([
    [{ rerank: { method: "llm" } }, "rerank.method"],
    [{ rerank: { method: "Cross-Encoder" } }, "rerank.method"],
    [{ rerank: { model: "../../evil" } }, "rerank.model"],
    [{ rewrite: "decompose" }, "rewrite"],
    [{ unit: "page" }, "unit"],
    [{ unit: "passage" }, "unit"],
  ])("%j is not what is on offer", (params, option) => expect(refusal(params)).toEqual(unsupported(option)));

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

test.each([
  [{ rerank: true }, "rerank"],
  [{ rerank: "cross-encoder" }, "rerank"],
  [{ rerank: [] }, "rerank"],
  [{ rerank: { method: 1 } }, "rerank.method"],
  [{ rerank: { topN: 0 } }, "rerank.topN"],
  [{ rerank: { topN: "20" } }, "rerank.topN"],
  [{ rewrite: true }, "rewrite"],
  [{ rewrite: {} }, "rewrite"],
  [{ mmr: 0.5 }, "mmr"],
  [{ mmr: { lambda: 1.01 } }, "mmr.lambda"],
  [{ mmr: { lambda: "0.5" } }, "mmr.lambda"],
  [{ recency: { field: 1 } }, "recency.field"],
  [{ recency: { field: "published", halfLifeDays: 0 } }, "recency.halfLifeDays"],
  [{ recency: { field: "published", halfLifeDays: 1e-320 } }, "recency.halfLifeDays"],
  [{ unit: 5 }, "unit"],
  [{ level: -1 }, "level"],
  [{ tokenBudget: 0 }, "tokenBudget"],
  [{ tokenBudget: "4000" }, "tokenBudget"],
  [{ cursor: 1 }, "cursor"],
])("%j is -32602 whether it is on offer or not", (params, field) => {
  expect(refusal(params)).toEqual(invalid(field));
  expect(refusal(params, PLAIN)).toEqual(invalid(field));
});

describe("recency", () => {
  test.each([{}, { field: "constructor" }, { field: "published'; --" }, { field: "year" }, { field: "seen" }])(
    "%j names no field with one date",
    (recency) => expect(refusal({ recency })).toEqual(invalid("recency.field")),
  );

  test("halves scores every 30 days unless told otherwise", () =>
    expect(plan({ recency: { field: "published" } }).recency).toMatchObject({
      field: { column: "f_published" },
      halfLifeDays: 30,
    }));
});

describe("the funnel candidateK ≥ rerank.topN ≥ k", () => {
  test.each([
    [{ k: 10, rerank: { topN: 9 } }, "rerank.topN"],
    [{ rerank: { topN: 9 } }, "rerank.topN"],
    [{ k: 5, candidateK: 20, rerank: { topN: 21 } }, "rerank.topN"],
    [{ k: 5, candidateK: 4, rerank: { topN: 5 } }, "candidateK"],
  ])("%j is refused at %s", (params, field) => expect(refusal(params)).toEqual(invalid(field)));

  test.each([
    [{ k: 10, candidateK: 10, rerank: { topN: 10 } }, [10, 10, 10]],
    [{ rerank: {} }, [10, 100, 100]],
    [{ rerank: { topN: null } }, [10, 100, 100]],
    [{ rerank: { topN: 150 } }, [10, 150, 150]],
    [{ rerank: { topN: 700 } }, [10, 700, 200]],
    [{ k: 500, candidateK: 2000, rerank: { topN: 1500 } }, [100, 1000, 200]],
  ])("%j is clamped to k, candidateK and topN %j", (params, expected) => {
    const { k, candidateK, rerank } = plan(params);
    expect([k, candidateK, rerank?.topN]).toEqual(expected);
  });
});

test("mmr weighs relevance and novelty alike unless told otherwise", () =>
  expect(plan({ mmr: {} }).mmr).toEqual({ lambda: 0.5 }));

test("the first unit on offer is the default", () => expect(plan({}, { units: ["document"] }).unit).toBe("document"));

test("an empty cursor never starts again at the first page", () =>
  expect(refusal({ cursor: "" })).toEqual(invalid("cursor")));

test("inherited params do not count", () => {
  const inherited: Record<string, unknown> = Object.create({ query: "x", k: 1 });
  expect(() => planRetrieval(inherited, offer)).toThrow(RpcError);
});
