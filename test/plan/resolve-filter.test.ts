import { describe, expect, test } from "vitest";
import { FILTER_OPERATORS, type FilterOperator, resolveFilter } from "../../src/plan/resolve-filter.ts";
import { RpcError } from "../../src/protocol/errors.ts";
import { EVERY_FIELD, FILTER_LIMITS } from "../support/every-field.ts";
import { expandVector } from "../support/expand-vector.ts";
import { isAllowed } from "../support/random-filter.ts";

const year = EVERY_FIELD.get("year");
const tags = EVERY_FIELD.get("tags");
const leaf = (field: string, op: string, value?: unknown) => ({ field, op, ...(value !== undefined && { value }) });
const one = leaf("year", "eq", 1);

const resolve = (filter: unknown, limits = FILTER_LIMITS, operators: ReadonlySet<string> = FILTER_OPERATORS) =>
  resolveFilter(filter, EVERY_FIELD, operators, limits);

function refusal(...args: Parameters<typeof resolve>): RpcError {
  try {
    resolve(...args);
  } catch (error) {
    if (error instanceof RpcError) return error;
    throw error;
  }
  throw new Error("the filter was accepted");
}

describe("accepted", () => {
  test.each([undefined, null])("%j is no filter", (filter) => {
    expect(resolve(filter)).toBeUndefined();
  });

  test("a tree keeps its shape, its fields and its typed values", () => {
    expect(
      resolve({
        and: [{ not: leaf("published", "lt", "1970-01-01T00:00:01Z") }, { or: [leaf("tags", "in", ["a", "b"])] }],
      }),
    ).toEqual({
      kind: "and",
      of: [
        { kind: "not", of: { kind: "compare", op: "lt", field: EVERY_FIELD.get("published"), value: 1000 } },
        { kind: "or", of: [{ kind: "member", op: "in", field: tags, values: ["a", "b"] }] },
      ],
    });
  });

  test("exists without a value asks for presence", () => {
    expect(resolve(leaf("year", "exists"))).toEqual({ kind: "exists", field: year, present: true });
  });

  test("an ordered comparison of a list of ints is accepted, since the list is advertised as int", () => {
    expect(resolve(leaf("years", "gte", 2))).toEqual({
      kind: "compare",
      op: "gte",
      field: EVERY_FIELD.get("years"),
      value: 2,
    });
  });

  test("a value of exactly the byte limit and a list of exactly the length limit pass", () => {
    expect(resolve(leaf("lang", "eq", `${"\u6f22".repeat(1365)}x`))).toMatchObject({ kind: "compare" });
    expect(resolve(leaf("year", "in", Array(1_000).fill(1)))).toMatchObject({ kind: "member" });
  });

  test("an inherited member is not a member", () => {
    expect(resolve(Object.assign(Object.create({ and: [one] }), one))).toMatchObject({ kind: "compare", value: 1 });
  });
});

describe("refused with -32602", () => {
  const cases: readonly (readonly [string, unknown, string])[] = [
    [
      "a value inherited by the leaf",
      Object.assign(Object.create({ value: 1 }), { field: "year", op: "eq" }),
      "filter.value",
    ],
    ["an operator on the wrong type before its value", leaf("lang", "gt", 1), "filter.op"],
    ["a missing value before an operator on the wrong type", leaf("lang", "gt"), "filter.value"],
    ["an unknown operator before an unknown field", leaf("nothing", "like", 1), "filter.op"],
    ["null for the value of exists", { field: "year", op: "exists", value: null }, "filter.value"],
    ["an empty and", { and: [] }, "filter.and"],
    ["an empty or", { not: { or: [] } }, "filter.not.or"],
    ["null for a combinator beside a leaf", { ...one, and: null }, "filter"],
    [
      "a bad value deep in a tree",
      { and: [one, { or: [{ not: leaf("active", "eq", "t") }] }] },
      "filter.and[1].or[0].not.value",
    ],
    ["a value one byte over the limit", leaf("lang", "eq", `${"\u6f22".repeat(1365)}xx`), "filter.value"],
    ["a long string in a list", leaf("tags", "in", ["a", "x".repeat(4_097)]), "filter.value"],
    ["a lone surrogate in a list", leaf("tags", "nin", ["\ud800"]), "filter.value"],
    ["a list for a list field's eq", leaf("tags", "eq", ["a"]), "filter.value"],
    ["the first of two faults", { or: [leaf("year", "eq", "1"), leaf("nothing", "eq", 1)] }, "filter.or[0].value"],
  ];
  test.each(cases)("%s", (_, filter, field) => {
    const { code, data } = refusal(filter);
    expect([code, data.field]).toEqual([-32602, field]);
  });

  test("RCP §8: every operator on every field type that it is not for", () => {
    const refused: string[] = [];
    for (const field of EVERY_FIELD.values()) {
      for (const op of FILTER_OPERATORS) {
        if (isAllowed(op, field)) continue;
        expect(refusal(leaf(field.name, op, "a")).data.field, `${op} ${field.name}`).toBe("filter.op");
        refused.push(`${op} ${field.name}`);
      }
    }
    // Four orderings on keyword, text, bool and their lists; contains on single keyword, int, float, bool and date.
    expect(refused).toHaveLength(4 * 6 + 5);
  });

  test("an operator that is switched off, and it is named", () => {
    const { code, data } = refusal(leaf("year", "gt", 1), FILTER_LIMITS, new Set<FilterOperator>(["eq"]));
    expect([code, data]).toEqual([-32602, { field: "filter.op", option: "gt", detail: "op is one of: eq" }]);
  });

  test.each([
    ["empty", ""],
    ["longer than an operator", "x".repeat(65)],
    ["ill-formed", "\ud800"],
  ])("an operator that is %s is not repeated", (_, op) => {
    expect(refusal(leaf("year", op, 1)).data).not.toHaveProperty("option");
  });

  test("a name that objects inherit is no operator, even when the advertised set says so", () => {
    expect(refusal(leaf("year", "constructor", 1), FILTER_LIMITS, new Set(["constructor"])).data.field).toBe(
      "filter.op",
    );
  });
});

describe("limits", () => {
  const nested = (depth: number) => expandVector({ $gen: "nest", key: "not", depth, leaf: one });

  test("depth counts the combinators around a leaf", () => {
    const limits = { ...FILTER_LIMITS, maxDepth: 2 };
    expect(resolve(nested(2), limits)).toMatchObject({ kind: "not" });
    expect(refusal(nested(3), limits).data.field).toBe("filter.not.not.not");
  });

  test("nodes count combinators and leaves", () => {
    const limits = { ...FILTER_LIMITS, maxNodes: 3 };
    expect(resolve({ and: [one, one] }, limits)).toMatchObject({ kind: "and" });
    expect(refusal({ and: [one, one, one] }, limits).data.field).toBe("filter");
  });

  test.each(["not", "and", "or"])("10,000 levels of %s are refused without overflow", (wrap) => {
    const gen = wrap === "not" ? { $gen: "nest", key: wrap } : { $gen: "nestIn", wrap };
    const { code, data } = refusal(expandVector({ ...gen, depth: 10_000, leaf: one }));
    expect(code).toBe(-32602);
    expect(data.field).toBe(`filter${(wrap === "not" ? ".not" : `.${wrap}[0]`).repeat(33)}`);
  });

  test("a million children are refused without a visit to each", () => {
    expect(refusal({ or: Array(1_000_000).fill(one) }).data.field).toBe("filter");
  });
});
