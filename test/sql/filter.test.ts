import { existsSync, readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ResolvedFilter } from "../../src/plan/filter.ts";
import { FILTER_OPERATORS, resolveFilter } from "../../src/plan/resolve-filter.ts";
import { filterToCondition, filterToSql } from "../../src/sql/filter.ts";
import { compile, noRows, sql } from "../../src/sql/sql.ts";
import { EVERY_FIELD, FILTER_LIMITS } from "../support/every-field.ts";
import { type FilterRows, openFilterRows } from "../support/filter-rows.ts";

const CASES = new URL("cases/", import.meta.url);
const file = (name: string, part: string): URL => new URL(`${name}/${part}`, CASES);
const names = readdirSync(CASES).filter((name) => existsSync(file(name, "filter.json")));

function resolve(filter: unknown): ResolvedFilter {
  const resolved = resolveFilter(filter, EVERY_FIELD, FILTER_OPERATORS, FILTER_LIMITS);
  if (resolved === undefined) throw new Error("the filter is absent");
  return resolved;
}

/** Text, then one comment line per parameter, as the reviewed files have it. */
function golden(filter: ResolvedFilter): string {
  const { text, values } = compile(filterToSql(filter), noRows);
  return [text, ...values.map((value, index) => `-- $${index + 1} = ${JSON.stringify(value)}`), ""].join("\n");
}

describe("the statement of", () => {
  test.each(names)("%s is the reviewed one", (name) => {
    const filter = resolve(JSON.parse(readFileSync(file(name, "filter.json"), "utf8")));
    expect(golden(filter)).toBe(readFileSync(file(name, "statement.sql"), "utf8"));
  });
});

const ROWS = [
  { id: "none", meta: {} },
  { id: "null", meta: { year: null, rating: null, title: null, tags: null, years: null } },
  { id: "huge", meta: { year: 9007199254740991, rating: 1e308, ratings: [1e308, 5e-324], title: "" } },
  { id: "least", meta: { year: -9007199254740991, rating: 5e-324, ratings: [-1e308], title: "\u{1F600}" } },
  { id: "zero", meta: { year: 0, rating: -0, ratings: [-0], tags: [], years: [], title: "a%b" } },
  { id: "odd", meta: { tags: ["NULL", '{"a",b}', "back\\slash", "", "\u{1F600}"], lang: "\uFF5E", title: "\\" } },
];

describe("on a database", () => {
  let databases: readonly FilterRows[] = [];
  beforeAll(async () => {
    databases = await openFilterRows(
      EVERY_FIELD,
      ROWS.map((row) => ({ tenant: "t", ...row })),
    );
  });
  afterAll(async () => {
    for (const database of databases) await database.close();
  });

  const leaf = (field: string, op: string, value?: unknown) => ({ field, op, ...(value !== undefined && { value }) });

  test.each([
    ["an int beyond int4", leaf("year", "gt", 2147483648), ["huge"]],
    ["the largest int", leaf("year", "eq", 9007199254740991), ["huge"]],
    ["the smallest int in a list", leaf("year", "in", [-9007199254740991, 1]), ["least"]],
    ["an int of minus zero", leaf("year", "eq", -0), ["zero"]],
    ["a float near the top of the range", leaf("rating", "gte", 1e308), ["huge"]],
    ["the smallest subnormal float", leaf("rating", "eq", 5e-324), ["least"]],
    ["a float of minus zero, which equals zero", leaf("rating", "eq", 0), ["zero"]],
    ["minus zero against stored minus zero", leaf("rating", "in", [-0]), ["zero"]],
    ["subnormals in a list", leaf("ratings", "contains", 5e-324), ["huge"]],
    ["floats in a list of both", leaf("ratings", "in", [-1e308, 0]), ["least", "zero"]],
    [
      "an empty needle, which every present title holds",
      leaf("title", "contains", ""),
      ["huge", "least", "zero", "odd"],
    ],
    ["a percent sign, which is no wildcard", leaf("title", "contains", "%"), ["zero"]],
    ["a lone backslash", leaf("title", "contains", "\\"), ["odd"]],
    ["an element called NULL", leaf("tags", "contains", "NULL"), ["odd"]],
    ["an element that looks like an array literal", leaf("tags", "in", ['{"a",b}']), ["odd"]],
    ["an element with a backslash", leaf("tags", "eq", "back\\slash"), ["odd"]],
    ["an empty element", leaf("tags", "contains", ""), ["odd"]],
    ["an empty list, which is present", leaf("tags", "exists"), ["zero", "odd"]],
    ["a comparison of an empty list", leaf("years", "gte", -1), []],
    ["ne on missing, null and empty", leaf("tags", "ne", "NULL"), ["none", "null", "huge", "least", "zero"]],
    ["nin on missing, null and empty", leaf("years", "nin", [1]), ["none", "null", "huge", "least", "zero", "odd"]],
    [
      "two comparisons and one of what is missing",
      { and: [leaf("year", "gte", 0), { and: [leaf("year", "in", [0, 9007199254740991])] }, leaf("lang", "ne", "x")] },
      ["huge", "zero"],
    ],
    ["not of a comparison with null", { not: leaf("year", "gt", 0) }, ["none", "null", "least", "zero", "odd"]],
  ])("%s", async (_, filter, ids) => {
    const asPredicate = filterToSql(resolve(filter));
    const asCondition = sql`(${filterToCondition(resolve(filter))})`;
    for (const database of databases)
      expect(await database.matching("t", [asPredicate, asCondition]), database.name).toEqual([ids, ids]);
  });

  test("every reviewed statement runs and is never NULL", async () => {
    const filters = names.map((name) => resolve(JSON.parse(readFileSync(file(name, "filter.json"), "utf8"))));
    const nulls = filters.map((filter) => sql`(${filterToSql(filter)}) is null`);
    for (const database of databases) {
      expect(await database.matching("t", nulls), database.name).toEqual(names.map(() => []));
    }
  });

  test("the widest and deepest filters that pass fit the database's stack", async () => {
    const one = leaf("year", "eq", 0);
    const wide = { or: Array.from({ length: 511 }, () => one) };
    let deep: object = { and: Array.from({ length: 479 }, () => one) };
    for (let level = 1; level < 32; level++) deep = level % 2 === 0 ? { not: deep } : { and: [deep] };
    for (const database of databases) {
      const matched = await database.matching("t", [filterToSql(resolve(wide)), filterToSql(resolve(deep))]);
      // 15 of the 31 combinators around `deep` are `not`, an odd number.
      expect(matched, database.name).toEqual([["zero"], ["none", "null", "huge", "least", "odd"]]);
    }
  });

  test("a predicate binds tighter than what stands beside it", async () => {
    const either = filterToSql(resolve({ or: [leaf("year", "exists"), leaf("year", "exists", false)] }));
    for (const database of databases) expect(await database.matching("nobody", [either]), database.name).toEqual([[]]);
  });
});
