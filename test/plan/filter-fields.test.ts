import { expect, test } from "vitest";
import { configSchema } from "../../src/config/config.ts";
import { advertisedFields, filterFields, scalarOf } from "../../src/plan/filter-fields.ts";

test("a field's type, list and column come from its declaration", () => {
  expect([...filterFields({ year: "int", tags: "keyword[]" })]).toEqual([
    ["year", { name: "year", type: "int", array: false, column: "f_year" }],
    ["tags", { name: "tags", type: "keyword", array: true, column: "f_tags" }],
  ]);
});

test("the configuration's fields are taken as they are", () => {
  const { filter } = configSchema.parse({ filter: { fields: { "my.date-1": "date[]" } } });
  expect([...filterFields(filter.fields).values()]).toEqual([
    { name: "my.date-1", type: "date", array: true, column: "f_my.date-1" },
  ]);
});

test("RCP §8: a list field is advertised with the type of its elements", () => {
  expect(advertisedFields(filterFields({ year: "int", tags: "keyword[]", dates: "date[]" }))).toEqual({
    year: "int",
    tags: "keyword",
    dates: "date",
  });
});

test("a field called like an inherited member is a field like any other", () => {
  const fields = filterFields(Object.fromEntries([["constructor", "int"]]));
  expect(fields.has("toString")).toBe(false);
  expect(fields.get("constructor")?.column).toBe("f_constructor");
  expect(Object.hasOwn(advertisedFields(fields), "constructor")).toBe(true);
});

test.each([
  ["keyword", "a", "a"],
  ["text", "", ""],
  ["int", 9007199254740991, 9007199254740991],
  ["float", 5e-324, 5e-324],
  ["bool", false, false],
  ["date", "1970-01-01T00:00:01Z", 1000],
] as const)("a %s holds %j", (type, value, held) => {
  expect(scalarOf(type, value)).toBe(held);
});

test.each([
  ["keyword", 1],
  ["keyword", "a\u0000"],
  ["keyword", "\ud800"],
  ["text", null],
  ["int", "1"],
  ["int", 1.5],
  ["int", 9007199254740992],
  ["float", Number.NaN],
  ["float", Number.POSITIVE_INFINITY],
  ["float", "4.5"],
  ["bool", 1],
  ["bool", "true"],
  ["date", "soon"],
  ["date", true],
  ["int", [1]],
  ["int", {}],
] as const)("a %s does not hold %j", (type, value) => {
  expect(scalarOf(type, value)).toBeUndefined();
});
