import { describe, expect, test } from "vitest";
import { checkMeta, citationOf, columnValue } from "../../src/plan/check-meta.ts";
import { filterFields } from "../../src/plan/filter-fields.ts";
import { RpcError } from "../../src/protocol/errors.ts";
import { EVERY_FIELD } from "../support/every-field.ts";
import { expandVector } from "../support/expand-vector.ts";

const LIMITS = { maxMetaBytes: 65_536, maxMetaKeyBytes: 256, maxMetaValueBytes: 8_192, maxMetaDepth: 16 };
const FIELDS = filterFields({ year: "int", tags: "keyword[]", published: "date", active: "bool" });

const check = (meta: unknown, limits = LIMITS) => checkMeta(meta, FIELDS, limits, "documents[0].meta");

function refusal(...args: Parameters<typeof check>): RpcError {
  try {
    check(...args);
  } catch (error) {
    if (error instanceof RpcError) return error;
    throw error;
  }
  throw new Error("the meta was accepted");
}

describe("accepted", () => {
  test.each([undefined, null, {}])("%j is an empty meta, and every column is null", (meta) => {
    const checked = check(meta);
    expect([checked.meta, checked.json]).toEqual([{}, "{}"]);
    expect([...checked.columns]).toEqual([
      ["year", null],
      ["tags", null],
      ["published", null],
      ["active", null],
    ]);
  });

  test("advertised fields become typed values and the rest stays as it was", () => {
    const meta = {
      year: -5,
      tags: ["a", "b"],
      published: "1970-01-01T00:00:01Z",
      active: false,
      author: { name: "x" },
    };
    const checked = check(meta);
    expect(checked.meta).toBe(meta);
    expect(JSON.parse(checked.json)).toEqual(meta);
    expect(Object.fromEntries(checked.columns)).toEqual({ year: -5, tags: ["a", "b"], published: 1000, active: false });
  });

  test("a null field is a missing one, an empty list is a value", () => {
    const { columns } = check({ year: null, tags: [] });
    expect([columns.get("year"), columns.get("tags")]).toEqual([null, []]);
  });

  test("an inherited field is a missing one", () => {
    expect(check(Object.create({ year: 1 })).columns.get("year")).toBeNull();
  });

  test("what would be trusted elsewhere is inert here", () => {
    const meta = {
      trust: { level: "trusted" },
      tenant_id: "globex",
      tenantId: "globex",
      citation: { uri: "javascript:alert(1)" },
    };
    expect(check(meta).meta).toEqual(meta);
    expect(citationOf(meta)).toEqual({});
  });

  test.each(["constructor", "toString", "toJSON", "then", "hasOwnProperty", " ", "tenant_id"])("the key %j", (key) => {
    expect(JSON.parse(check({ [key]: "v" }).json)).toEqual({ [key]: "v" });
  });

  test("keys, values, depth and size of exactly their limits", () => {
    expect(check({ [`${"\u6f22".repeat(85)}x`]: `${"\u6f22".repeat(2730)}xx` }).json).toContain("\u6f22");
    expect(check({ x: expandVector({ $gen: "nestArray", depth: 15 }) }).columns.size).toBe(4);
    // {"a":"xx"} is 10 bytes.
    expect(check({ a: "xx" }, { ...LIMITS, maxMetaBytes: 10 }).json).toHaveLength(10);
  });
});

describe("refused with -32602", () => {
  test.each([[], "x", 1, true])("%j is no meta", (meta) => {
    const { code, data } = refusal(meta);
    expect([code, data.field]).toEqual([-32602, "documents[0].meta"]);
  });

  const fieldCases: readonly (readonly [string, unknown])[] = [
    ["year", "abc"],
    ["year", 1.5],
    ["year", "NaN"],
    ["year", 9007199254740992],
    ["year", [2023]],
    ["tags", "news"],
    ["tags", ["news", null]],
    ["tags", ["news", 1]],
    ["tags", [["news"]]],
    ["tags", { 0: "news" }],
    ["published", "tomorrow"],
    ["active", "true"],
  ];
  test.each(fieldCases)("%s: %j, with the field's path", (name, value) => {
    const { code, data } = refusal({ fine: 1, [name]: value });
    expect([code, data.field]).toEqual([-32602, `documents[0].meta.${name}`]);
  });

  const treeCases: readonly (readonly [string, unknown])[] = [
    ["an empty key", { "": 1 }],
    ["an empty key inside", { a: [{ b: { "": 1 } }] }],
    ["__proto__ as a key", JSON.parse('{"__proto__": {"polluted": 1}}')],
    ["__proto__ as a key inside", JSON.parse('{"a": [{"__proto__": 1}]}')],
    ["U+0000 in a key", { "a\u0000": 1 }],
    ["a lone surrogate in a key", { "\ud800": 1 }],
    ["a key one byte over its limit", { [`${"\u6f22".repeat(85)}xx`]: 1 }],
    ["U+0000 in a value", { a: "\u0000" }],
    ["U+0000 in a list inside", { a: { b: ["\u0000"] } }],
    ["a lone surrogate in a value", { a: "\udc00" }],
    ["a value one byte over its limit", { a: `${"\u6f22".repeat(2730)}xxx` }],
    ["one level too deep", { x: expandVector({ $gen: "nestArray", depth: 16 }) }],
    ["10,000 lists", { x: expandVector({ $gen: "nestArray", depth: 10_000 }) }],
    ["10,000 objects", expandVector({ $gen: "nest", key: "a", depth: 10_000, leaf: 1 })],
    ["a number that JSON.parse made infinite", JSON.parse('{"a": 1e400}')],
    ["a value that is not JSON", { a: undefined }],
  ];
  test.each(treeCases)("%s, with meta's own path", (_, meta) => {
    const { code, data } = refusal(meta);
    expect([code, data.field]).toEqual([-32602, "documents[0].meta"]);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  test("the message does not repeat a key or a value", () => {
    const error = refusal({ "secret-key\u0000": "secret-value" });
    expect(JSON.stringify([error.message, error.data])).not.toContain("secret");
  });
});

test("a meta that is too large as a whole is -32013 and names the setting", () => {
  const { code, data } = refusal({ a: "xxx" }, { ...LIMITS, maxMetaBytes: 10 });
  expect([code, data.field]).toEqual([-32013, "documents[0].meta"]);
  expect(data.detail).toContain("limits.maxMetaBytes");
});

test("a stored value that does not fit a field that came later is undefined, not null", () => {
  const year = EVERY_FIELD.get("year");
  const years = EVERY_FIELD.get("years");
  if (year === undefined || years === undefined) throw new Error("no such field");
  expect([columnValue(year, "2023"), columnValue(year, null), columnValue(year, undefined)]).toEqual([
    undefined,
    null,
    null,
  ]);
  expect([columnValue(years, 1), columnValue(years, []), columnValue(years, [1, null])]).toEqual([
    undefined,
    [],
    undefined,
  ]);
});

describe("a citation", () => {
  test("has title, uri and language when they are usable", () => {
    expect(citationOf({ title: "T", uri: "https://example.org/a?b#c", language: "en", other: 1 })).toEqual({
      title: "T",
      uri: "https://example.org/a?b#c",
      language: "en",
    });
  });

  test("ignores what is not text", () => {
    expect(citationOf({ title: 1, uri: ["https://example.org"], language: { en: true } })).toEqual({});
    expect(citationOf({ title: "", uri: null, language: "" })).toEqual({});
    expect(citationOf(Object.create({ title: "inherited" }))).toEqual({});
  });

  test.each([
    "http://example.org",
    "HTTPS://example.org/\u6f22",
    "https://[2001:db8::1]:8080/x",
    "urn:isbn:9780141036144",
    "URN:ietf:rfc:3339",
  ])("shows %s", (uri) => {
    expect(citationOf({ uri })).toEqual({ uri });
  });

  test.each([
    "javascript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "ftp://example.org",
    "//example.org",
    "/a",
    "https:example.org",
    "https:///example.org",
    "https://",
    " https://example.org",
    "https://exam\nple.org",
    "java\tscript:https://example.org",
    "https://example.org/a b",
    "https://example.org:99999",
    "urn:",
    "urn:isbn",
    "urn::x",
    "urns:isbn:1",
  ])("does not show %j", (uri) => {
    expect(citationOf({ uri })).toEqual({});
  });
});

test("a keyword has at most 1,024 bytes in UTF-8, alone and in a list: it is the key of an index", () => {
  const keyword = filterFields({ lang: "keyword", tags: "keyword[]", title: "text" });
  const [lang, tags, title] = ["lang", "tags", "title"].map((name) => keyword.get(name));
  if (!lang || !tags || !title) throw new Error("the fields are declared above");
  const fits = "\u6f22".repeat(341); // 1,023 bytes
  expect(columnValue(lang, fits)).toBe(fits);
  expect(columnValue(lang, `${fits}ab`)).toBeUndefined();
  expect(columnValue(tags, [`${fits}ab`])).toBeUndefined();
  expect(columnValue(title, `${fits}ab`)).toBe(`${fits}ab`);
});

test("an integer that a double cannot hold exactly is refused rather than changed", () => {
  for (const meta of [{ snowflake: Number("1234567890123456789") }, { deep: [{ n: -(2 ** 53) }] }])
    expect(refusal(meta)).toMatchObject({ code: -32602, data: { field: "documents[0].meta" } });
  for (const value of [2 ** 53 - 1, 1 - 2 ** 53, 1e300, 0.1, 1e21]) expect(check({ value }).meta).toEqual({ value });
});
