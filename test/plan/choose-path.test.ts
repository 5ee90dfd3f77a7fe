import { describe, expect, test } from "vitest";
import type { Corpus, CorpusName, FilterField, TenantId } from "../../src/catalog/corpus.ts";
import { configSchema } from "../../src/config/config.ts";
import { leadsToNearest, pathByCount, pathByEstimate, pathWithoutCount } from "../../src/plan/choose-path.ts";
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
const ask = { indexVersion: undefined, seed: undefined, filter: undefined };

test.each([
  ["without a graph", ask, undefined],
  ["of a pinned version", { ...ask, indexVersion: "v1" }, 1_000_000],
  ["with a seed", { ...ask, seed: 0 }, 1_000_000],
  ["of 20,000 chunks", ask, 20_000],
  ["with a filter, of 20,000 chunks", { ...ask, filter: year }, 20_000],
])("a retrieve %s is exact", (_, asked, chunks) => {
  expect(pathWithoutCount(asked, corpus(chunks), settings)).toMatchObject({ search: "exact" });
});

test("without a filter a corpus of more chunks is searched by its graph", () => {
  const why = "the corpus has 20001 chunks";
  expect(pathWithoutCount(ask, corpus(20_001), settings)).toEqual({ search: "graph", efSearch: 200, why });
});

describe("with a filter", () => {
  test("the number of chunks that pass decides", () => {
    expect(pathWithoutCount({ ...ask, filter: year }, corpus(20_001), settings)).toBeUndefined();
  });

  // 15,000 is more than 6 % of 100,000; 60,000 is 6 % of a million.
  test.each([
    [15_000, 100_000, year, "exact"],
    [15_001, 100_000, year, "count"],
    [30_000, 100_000, year, "count"],
    [30_001, 100_000, year, "graph"],
    [60_000, 1_000_000, year, "exact"],
    [120_001, 1_000_000, year, "graph"],
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
    expect(pathByEstimate(passing, total, filter, settings)?.search ?? "count").toBe(expected);
  });

  test("a count up to the limit is exact, and one beyond it goes by the graph", () => {
    expect(pathByCount(15_000, 100_000, settings)).toEqual({
      search: "exact",
      why: "15000 of 100000 chunks pass the filter",
    });
    expect(pathByCount(15_001, 100_000, settings)).toMatchObject({
      search: "graph",
      why: "more than 15000 of 100000 chunks pass the filter",
    });
  });
});

describe("what a graph led to", () => {
  /** Distances whose logarithms below the last are worked out in the tests. */
  const at = (...distances: readonly number[]) => distances.map((distance) => 1 - distance);

  test("is trusted where two walks began alike, near chunks that fill few dimensions", () => {
    // 2 / (ln 4 + ln 2) = 0.96 dimensions.
    expect(leadsToNearest(at(0.1, 0.2, 0.4), at(0.1, 0.2, 0.4))).toBe(true);
  });

  test("is not trusted where a narrow walk found another one", () => {
    expect(leadsToNearest(at(0.1, 0.3, 0.4), at(0.1, 0.2, 0.4))).toBe(false);
    expect(leadsToNearest(at(0.1, 0.2), at(0.1, 0.2, 0.4))).toBe(false);
  });

  // 2 / (2 ln (0.44 / 0.4)) = 10.5 dimensions, and 2 / (2 ln (0.416 / 0.4)) = 25.5.
  test.each([
    [0.44, true],
    [0.416, false],
  ])("is trusted by how far beyond the nearest at 0.4 the last one is: %f", (furthest, expected) => {
    const found = at(0.4, 0.400001, furthest);
    expect(leadsToNearest(found, found)).toBe(expected);
  });

  test("is compared in its first twenty", () => {
    const wide = Array.from({ length: 40 }, (_, place) => 0.9 - place / 100);
    expect(leadsToNearest(wide.slice(0, 20), wide)).toBe(true);
    expect(leadsToNearest(wide.slice(0, 19), wide)).toBe(false);
  });

  test("is trusted where all of it is equally near, as copies of one chunk are", () => {
    const copies = Array.from({ length: 20 }, () => 0.3);
    expect(leadsToNearest(copies, [...copies, 0.3, 0.3])).toBe(true);
    expect(leadsToNearest(at(0, 0), at(0, 0))).toBe(true);
  });
});
