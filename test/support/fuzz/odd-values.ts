import fc from "fast-check";
import { RawText } from "./wire-text.ts";

/** In every text that is made up, so that an error that repeats one is found. */
export const CANARY = "zqcanary";

/** Values that stand where another was meant. */

const NUMBERS = [
  ..."0 -0 1 -1 1.5 1e308 1e400 -1e400 5e-324 1e-400 9007199254740991 9007199254740992 9007199254740993 -9007199254740993".split(
    " ",
  ),
  ..."2147483647 2147483648 4294967296 9223372036854775808 18446744073709551616 0.1 1E2 100000000000000000000".split(
    " ",
  ),
  ..."01 +1 .5 1. 0x10 NaN Infinity -Infinity 1_000".split(" "),
];
const NAMES = [
  ..."__proto__ constructor prototype toString valueOf hasOwnProperty __defineGetter__ toJSON then length".split(" "),
  ..."tenantId tenant_id tenant principal scope source trust polluted".split(" "),
];
const TEXTS = [
  "",
  " ",
  "\u0000",
  `${CANARY}\u0000x`,
  "\ud800",
  `${CANARY}\udfff`,
  "\ufeff",
  "\u202e",
  "e\u0301",
  "\u{10ffff}",
  "%00",
  "../../../etc/passwd",
  `${CANARY}'; drop table pgrcp.documents; --`,
  `${CANARY}" or 1=1`,
  "$1",
  "{{7*7}}",
  "$(id)",
  "a\r\nX-Injected: 1",
  "text/event-stream",
  "null",
  "true",
  "1e400",
  "2023-02-30",
  "9999-12-31T23:59:60Z",
  "+275760-09-13T00:00:00.001Z",
  "#0",
  "#18446744073709551616",
];
const POLLUTION: readonly unknown[] = [
  { constructor: { prototype: { polluted: 1 } } },
  new RawText('{"__proto__":{"polluted":true,"toString":1}}'),
];

const unicode = fc.string({ unit: "binary", maxLength: 20 });
const surrogates = fc.string({
  unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
  maxLength: 12,
});

export const oddText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...TEXTS),
  fc.constantFrom(...NAMES),
  unicode.map((text) => CANARY + text),
  surrogates.map((text) => text + CANARY),
  fc.constantFrom(257, 513, 4_097, 8_193, 32_769, 70_000).map((length) => CANARY + "x".repeat(length)),
);

const nest = (depth: number, open: string, close: string, leaf: string) =>
  new RawText(open.repeat(depth) + leaf + close.repeat(depth));
const depth = fc.constantFrom(2, 31, 33, 63, 64, 65, 200, 5_000);
const deep = fc.oneof(
  depth.map((levels) => nest(levels, "[", "]", "")),
  depth.map((levels) => nest(levels, '{"a":', "}", "1")),
  depth.map((levels) => nest(levels, '{"not":', "}", '{"field":"year","op":"eq","value":1}')),
  depth.map((levels) => nest(levels, '{"and":[', "]}", '{"field":"year","op":"eq","value":1}')),
);

const long = fc
  .tuple(fc.constantFrom(101, 513, 1_001, 5_000), fc.constantFrom<unknown>(0, "x", null, {}, []))
  .map(([length, item]) => Array.from({ length }, () => item));

export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...NUMBERS).map((text) => new RawText(text)) },
  { weight: 4, arbitrary: oddText },
  { weight: 3, arbitrary: fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], { "": null }) },
  { weight: 1, arbitrary: fc.constantFrom(...POLLUTION) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: deep },
  { weight: 1, arbitrary: long },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom("undefined", "tru", "'x'", "[1,]", "{,}", '"\\x"', '"\\ud800"', "/**/1")
      .map((text) => new RawText(text)),
  },
);

/** Names of members, also ones that the protocol knows elsewhere. */
export const oddName: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...NAMES),
  fc.constantFrom(
    "id",
    "method",
    "params",
    "jsonrpc",
    "result",
    "error",
    "_meta",
    "filter",
    "k",
    "cursor",
    "and",
    "not",
    "op",
  ),
  oddText,
);
