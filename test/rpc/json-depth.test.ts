import { describe, expect, test } from "vitest";
import { isWithinDepth } from "../../src/rpc/json-depth.ts";

describe("isWithinDepth", () => {
  test.each([
    ["a scalar has no depth", 5, 0, true],
    ["null has no depth", null, 0, true],
    ["an empty object is one level", {}, 1, true],
    ["an empty array is one level", [], 0, false],
    ["objects and arrays count alike", { a: [{ b: 1 }] }, 3, true],
    ["one level too many is seen in the last branch", [1, [1], [[[]]]], 3, false],
    ["and allowed with one more", [1, [1], [[[]]]], 4, true],
  ])("%s", (_claim, value, limit, expected) => {
    expect(isWithinDepth(value, limit)).toBe(expected);
  });

  test("half a million levels are walked without overflow", () => {
    const levels = 500_000;
    expect(isWithinDepth(JSON.parse("[".repeat(levels) + "]".repeat(levels)), levels)).toBe(true);
  });
});
