import { expect, test } from "vitest";
import { expandVector } from "./expand-vector.ts";

test.each([
  [{ $gen: "repeat", unit: "ab", count: 3 }, "ababab"],
  [{ $gen: "array", item: { x: { $gen: "repeat", unit: "a", count: 2 } }, count: 2 }, [{ x: "aa" }, { x: "aa" }]],
  [{ $gen: "seq", count: 3 }, [0, 1, 2]],
  [{ $gen: "seq", count: 2, start: 5 }, [5, 6]],
  [{ $gen: "strseq", prefix: "x", count: 2 }, ["x0", "x1"]],
  [{ $gen: "nest", key: "not", depth: 2, leaf: 1 }, { not: { not: 1 } }],
  [{ $gen: "nestIn", wrap: "and", depth: 2, leaf: 1 }, { and: [{ and: [1] }] }],
  [{ $gen: "nestArray", depth: 3 }, [[[]]]],
  [{ $gen: "rawRepeat", prefix: "{", unit: "[", count: 2, suffix: "]" }, "{[[]"],
  [
    { $gen: "batch", item: { id: 7, method: "ping" }, ids: true, count: 2 },
    '[{"id":0,"method":"ping"},{"id":1,"method":"ping"}]',
  ],
  [{ $gen: "batch", item: { method: "ping" }, count: 2 }, '[{"method":"ping"},{"method":"ping"}]'],
  [
    { $gen: "headers", count: 2 },
    [
      ["x-filler-0", "x"],
      ["x-filler-1", "x"],
    ],
  ],
])("%j stands for its value", (marker, value) => {
  expect(expandVector({ deep: [marker] })).toEqual({ deep: [value] });
});

test("a removed member is left out, other values stay as they are", () => {
  expect(expandVector({ k: { $remove: true }, n: null, t: { $now: 5 } })).toEqual({ n: null, t: { $now: 5 } });
});

test("a member called __proto__ stays a member", () => {
  const expanded = expandVector(JSON.parse('{"__proto__": {"polluted": 1}}'));
  expect(Object.hasOwn(expanded as object, "__proto__")).toBe(true);
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});

test("a nest of 10,000 levels is built without recursion", () => {
  let depth = 0;
  for (let value = expandVector({ $gen: "nestArray", depth: 10_000 }); Array.isArray(value); value = value[0])
    depth += 1;
  expect(depth).toBe(10_000);
});

test("an unknown generator is an error", () => {
  expect(() => expandVector({ $gen: "nothing" })).toThrow("no such generator");
});
