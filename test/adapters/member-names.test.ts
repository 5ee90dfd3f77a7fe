import { expect, test } from "vitest";
import { memberNames } from "../../src/adapters/member-names.ts";

test.each([
  ["{}", []],
  ['{"a":1}', ["a"]],
  ['{"a":1,"b":2,"a":3}', ["a", "b", "a"]],
  [' { "a" : "b" , "c" : [ "d" , { "e" : "f" } ] , "g" : { "a" : { "h" : 1 } } } ', ["a", "c", "g"]],
  ['{"a":"x\\"y","b":"{,\\\\","c":"[\\\\\\""}', ["a", "b", "c"]],
  ['{"tenant\\u0049d":1,"tenantId":2}', ["tenantId", "tenantId"]],
  ['{"__proto__":1,"constructor":{},"":null,"__proto__":2}', ["__proto__", "constructor", "", "__proto__"]],
  ['{"a":"","b":[],"c":{},"d":[[["x"]],"y"]}', ["a", "b", "c", "d"]],
])("of %s are %j", (text, names) => {
  expect(memberNames(text)).toEqual(names);
  expect(new Set(names)).toEqual(new Set(Object.keys(JSON.parse(text))));
});

test("are found in a body of four megabytes that is all backslashes, quotes or brackets", () => {
  for (const piece of ["\\\\", '\\"', "{[]}"])
    expect(memberNames(`{"a":"${piece.repeat(1_000_000)}","b":1}`)).toEqual(["a", "b"]);
});
