import { describe, expect, test } from "vitest";
import type { Corpus, CorpusName, FilterField, TenantId } from "../../src/catalog/corpus.ts";
import { configSchema } from "../../src/config/config.ts";
import {
  liesElsewhere,
  pathByCount,
  pathByEstimate,
  pathWithoutCount,
  trustInGraph,
} from "../../src/plan/choose-path.ts";
import type { ResolvedFilter } from "../../src/plan/filter.ts";

const settings = configSchema.parse({}).retrieval;
const corpus = (graphChunks: number | undefined): Corpus => ({
  tenantId: "acme" as TenantId,
  name: "default" as CorpusName,
  language: "english",
  space: { identity: "test", dimension: 2 },
  screening: "flag",
  placement: "p_1",
  graphChunks,
});
const field = (type: FilterField["type"], array = false): FilterField => ({ name: "f", type, array, column: "f_f" });
const year: ResolvedFilter = { kind: "compare", op: "gte", field: field("int"), value: 2000 };
const before: ResolvedFilter = { kind: "compare", op: "lt", field: field("int"), value: 2010 };
const other: ResolvedFilter = { ...before, field: { ...field("int"), name: "g", column: "f_g" } };
const tag: ResolvedFilter = { kind: "contains", field: field("keyword", true), value: "red" };
const words: ResolvedFilter = { kind: "contains", field: field("text"), value: "red" };
const ask = { indexVersion: undefined, seed: undefined, filter: undefined, k: 10, candidateK: 30 };

test.each([
  ["without a graph", ask, undefined],
  ["of a pinned version", { ...ask, indexVersion: "v1" }, 1_000_000],
  ["with a seed", { ...ask, seed: 0 }, 1_000_000],
  ["of 8,000 chunks", ask, 8_000],
  ["with a filter, of 8,000 chunks", { ...ask, filter: year }, 8_000],
])("a retrieve %s is exact", (_, asked, chunks) => {
  expect(pathWithoutCount(asked, corpus(chunks), settings)).toMatchObject({ search: "exact" });
});

test("without a filter a corpus of more chunks is searched by its graph", () => {
  const why = "the corpus has 8001 chunks";
  expect(pathWithoutCount(ask, corpus(8_001), settings)).toEqual({
    search: "graph",
    efSearch: 100,
    isIterative: false,
    why,
  });
});

// Seven for each hit, two for each candidate, at least a hundred and at most what pgvector takes.
test.each([
  [{ k: 1, candidateK: 20 }, 100],
  [{ k: 20, candidateK: 50 }, 140],
  [{ k: 10, candidateK: 100 }, 200],
  [{ k: 100, candidateK: 100 }, 700],
  [{ k: 10, candidateK: 1_000 }, 1_000],
])("a walk for %j keeps %i candidates", (sizes, efSearch) => {
  expect(pathWithoutCount({ ...ask, ...sizes }, corpus(8_001), settings)).toMatchObject({ search: "graph", efSearch });
});

test("behind a filter it keeps twice as many", () => {
  const asked = { ...ask, filter: year };
  expect(pathByCount(20_000, 50_000, asked, settings)).toMatchObject({ efSearch: 200 });
  expect(pathByEstimate(40_000, 50_000, asked, settings)).toMatchObject({ efSearch: 200 });
  expect(pathByEstimate(40_000, 50_000, { ...asked, k: 100 }, settings)).toMatchObject({ efSearch: 1_000 });
});

describe("with a filter", () => {
  test("the number of chunks that pass decides", () => {
    expect(pathWithoutCount({ ...ask, filter: year }, corpus(8_001), settings)).toBeUndefined();
  });

  // 8,000 is more than 12 % of 50,000; 120,000 is 12 % of a million.
  test.each([
    [8_000, 50_000, year, "exact"],
    [8_001, 50_000, year, "count"],
    [16_000, 50_000, year, "count"],
    [16_001, 50_000, year, "graph"],
    [120_000, 1_000_000, year, "exact"],
    [240_001, 1_000_000, year, "graph"],
    [50_000, 100_000, tag, "graph"],
    [50_000, 100_000, { kind: "not", of: year }, "graph"],
    // One column's statistics do not tell of two, and none tells what a text contains.
    [50_000, 100_000, { kind: "and", of: [year, tag] }, "count"],
    [50_000, 100_000, { kind: "and", of: [year, other] }, "count"],
    [50_000, 100_000, { kind: "and", of: [year, year] }, "count"],
    [50_000, 100_000, { kind: "and", of: [year, before, tag] }, "count"],
    [50_000, 100_000, { kind: "or", of: [year, before] }, "count"],
    [50_000, 100_000, { kind: "and", of: [year, before] }, "graph"],
    [50_000, 100_000, { kind: "and", of: [before, year] }, "graph"],
    [50_000, 100_000, words, "count"],
    [50_000, 100_000, { kind: "not", of: words }, "count"],
  ] as const)("about %i of %i by %j: %s", (passing, total, filter, expected) => {
    expect(pathByEstimate(passing, total, { ...ask, filter }, settings)?.search ?? "count").toBe(expected);
  });

  test("a count up to the limit is exact, and one beyond it goes by the graph", () => {
    expect(pathByCount(8_000, 50_000, ask, settings)).toEqual({
      search: "exact",
      why: "8000 of 50000 chunks pass the filter",
    });
    expect(pathByCount(8_001, 50_000, ask, settings)).toMatchObject({
      search: "graph",
      why: "more than 8000 of 50000 chunks pass the filter",
    });
  });
});

describe("what a graph led to is trusted by how many dimensions the nearest twenty fill", () => {
  /** Nineteen equally near but for the last digits, and a twentieth: (19 − 1) / (19 ln (furthest / 0.4)) dimensions. */
  const found = (furthest: number) => [
    ...Array.from({ length: 19 }, (_, place) => 1 - 0.4 - place * 1e-9),
    1 - furthest,
  ];

  // 0.947 / ln (furthest / 0.4): 9.94, 10.4, 15.7 and 16.4 dimensions.
  test.each([
    [0.44, "sure"],
    [0.438, "unsure"],
    [0.4249, "unsure"],
    [0.4238, "none"],
  ])("the last of them at %f", (furthest, expected) => {
    expect(trustInGraph(found(furthest), ask)).toBe(expected);
    expect(trustInGraph([...found(furthest), 0.1, 0.05], ask)).toBe(expected);
  });

  test("but behind a filter never surely", () => {
    expect(trustInGraph(found(0.44), { ...ask, filter: year })).toBe("unsure");
    expect(trustInGraph(found(0.4238), { ...ask, filter: year })).toBe("none");
  });

  /** Some near ones, and then many as far as what has nothing to do with them. */
  const island = (near: number, count = 20) =>
    Array.from({ length: count }, (_, place) =>
      place < near ? 0.9 - (0.5 * place) / near : 0.16 - (0.02 * place) / count,
    );

  test("nor where fewer than the hits are near, and those after them are all as far: they are of another cluster", () => {
    for (const near of [1, 3, 9]) expect(trustInGraph(island(near), ask)).toBe("none");
    for (const near of [10, 15]) expect(trustInGraph(island(near), ask)).toBe("sure");
    expect(trustInGraph(island(3), { ...ask, k: 3 })).toBe("none");
  });

  test("of more hits, the last one must be near", () => {
    expect(trustInGraph(island(10, 200), { ...ask, k: 100 })).toBe("none");
    expect(trustInGraph(island(99, 200), { ...ask, k: 100 })).toBe("none");
    expect(trustInGraph(island(150, 200), { ...ask, k: 100 })).toBe("sure");
    expect(trustInGraph(island(10, 100), { ...ask, k: 100 })).toBe("none");
  });

  // Distances of .2 and .4.
  test.each([
    [0.61, 0.8, false],
    [0.59, 0.8, true],
    [1, 1, false],
    [0.99, 1, true],
  ])("nor where what passes is more than twice as far as what is there: %f of %f", (passing, any, expected) => {
    expect(liesElsewhere(passing, any)).toBe(expected);
  });

  test("copies of one chunk, and a few chunks, do not tell", () => {
    const copies = Array.from({ length: 30 }, () => 0.3);
    expect(trustInGraph(copies, ask)).toBe("unsure");
    expect(trustInGraph([1, 0.9], ask)).toBe("unsure");
  });
});
