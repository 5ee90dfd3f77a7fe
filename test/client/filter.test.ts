import { expect, test } from "vitest";
import {
  and,
  contains,
  eq,
  exists,
  type Filter,
  filtersFor,
  gte,
  isIn,
  lt,
  ne,
  not,
  notIn,
  or,
} from "../../src/client/index.ts";

test("functions give the trees of RCP §8", () => {
  expect(and(eq("lang", "en"), gte("year", 2020))).toEqual({
    and: [
      { field: "lang", op: "eq", value: "en" },
      { field: "year", op: "gte", value: 2020 },
    ],
  });
  expect(not(or(isIn("tag", ["a", "b"]), exists("tag", false)))).toEqual({
    not: {
      or: [
        { field: "tag", op: "in", value: ["a", "b"] },
        { field: "tag", op: "exists", value: false },
      ],
    },
  });
  expect([ne("a", 1), lt("d", "2026-01-01"), notIn("a", [1]), contains("t", "x"), exists("t")]).toEqual([
    { field: "a", op: "ne", value: 1 },
    { field: "d", op: "lt", value: "2026-01-01" },
    { field: "a", op: "nin", value: [1] },
    { field: "t", op: "contains", value: "x" },
    { field: "t", op: "exists", value: true },
  ]);
});

test("with a map of fields the same trees come out", () => {
  const typed = filtersFor<{ lang: "keyword"; year: "int"; at: "date"; live: "bool" }>();

  expect(typed.and(typed.eq("lang", "en"), typed.gte("year", 1), typed.lt("at", 5), typed.eq("live", true))).toEqual({
    and: [
      { field: "lang", op: "eq", value: "en" },
      { field: "year", op: "gte", value: 1 },
      { field: "at", op: "lt", value: 5 },
      { field: "live", op: "eq", value: true },
    ],
  });
});

test("what is no filter does not type-check", () => {
  const typed = filtersFor<{ lang: "keyword"; year: "int"; live: "bool" }>();
  const wrong: Filter[] = [
    // @ts-expect-error a combination of nothing
    and(),
    // @ts-expect-error a combination of nothing, written by hand
    { or: [] },
    // @ts-expect-error an order of booleans
    gte("live", true),
    // @ts-expect-error a list of nothing
    isIn("tag", []),
    // @ts-expect-error a list where a scalar belongs
    eq("tag", ["a"]),
    // @ts-expect-error an operator that RCP/1 lacks
    { field: "tag", op: "like", value: "a" },
    // @ts-expect-error a condition without a value
    { field: "tag", op: "eq" },
    // @ts-expect-error a field that is not in the map
    typed.eq("language", "en"),
    // @ts-expect-error text for a number
    typed.eq("year", "2020"),
    // @ts-expect-error a number for a keyword, in a list
    typed.isIn("lang", ["en", 1]),
    // @ts-expect-error an order of keywords
    typed.gt("lang", "en"),
  ];
  expect(wrong).toHaveLength(11);
});
