import { describe, expect, test } from "vitest";
import { toUnitVector } from "../../src/models/unit-vector.ts";

test("a vector is scaled to length 1 without turning", () => {
  expect([...(toUnitVector([3, 0, -4], 3) ?? [])]).toEqual([Math.fround(0.6), 0, Math.fround(-0.8)]);
});

test.each([
  ["so small that their squares vanish", 1e-200],
  ["so large that their squares overflow", 1e200],
])("components %s still give a unit vector", (_, size) => {
  expect([...(toUnitVector([3 * size, 4 * size], 2) ?? [])]).toEqual([Math.fround(0.6), Math.fround(0.8)]);
});

describe("no unit vector can be made of", () => {
  test.each<[string, unknown]>([
    ["a vector that is too short", [1]],
    ["a vector that is too long", [1, 2, 3]],
    ["zeros", [0, -0]],
    ["NaN", [1, Number.NaN]],
    ["infinity", [1, Number.POSITIVE_INFINITY]],
    ["null", [1, null]],
    ["numbers in quotes", ["1", "2"]],
    ["a hole", new Array(2)],
    ["an object that only looks like a list", { length: 2, 0: 1, 1: 1 }],
    ["a string", "ab"],
    ["nothing", undefined],
  ])("%s", (_, values) => {
    expect(toUnitVector(values, 2)).toBeUndefined();
  });
});
