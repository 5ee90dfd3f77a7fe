import { describe, expect, test } from "vitest";
import { type ParamForm, readRestParam } from "../../src/adapters/rest-param.ts";

const read = (form: ParamForm, sent: unknown, required = false) =>
  readRestParam({ name: "p", form, required, description: "of a test" }, sent);

describe("a text that is written like its form", () => {
  test.each<[ParamForm, unknown, unknown]>([
    ["text", "5", "5"],
    ["text", " ", " "],
    ["text", "true", "true"],
    ["text", "[object Object]", "[object Object]"],
    ["number", "5", 5],
    ["number", "-0.25", -0.25],
    ["number", "1e3", 1_000],
    ["number", "2.5E-1", 0.25],
    ["number", "0", 0],
    ["number", 7, 7],
    ["boolean", "true", true],
    ["boolean", "false", false],
    ["boolean", false, false],
    ["date", "2024-05-31", "2024-05-31"],
    ["date", "2024-05-31T12:00:00+02:00", "2024-05-31T12:00:00+02:00"],
    ["object", '{"lang":"en"}', { lang: "en" }],
    ["object", " { } ", {}],
    ["object", { lang: "en" }, { lang: "en" }],
  ])("%s: %j is %j", (form, sent, value) => {
    expect(read(form, sent)).toEqual({ kind: "value", value });
  });
});

describe("anything else is refused with the param and what would be right, never with what was sent", () => {
  test.each<[ParamForm, readonly unknown[], RegExp]>([
    ["text", [5, true, [], {}], /^must be a text$/],
    [
      "number",
      [
        "five",
        " 5",
        "5 ",
        "05",
        "+5",
        ".5",
        "5.",
        "0x5",
        "1_0",
        "1e",
        "１",
        "٣",
        "NaN",
        "Infinity",
        "1e400",
        "5,0",
        true,
        [5],
        {},
      ],
      /^must be a number/,
    ],
    ["boolean", ["True", "TRUE", "yes", "1", "0", 1, 0, " true", ["true"]], /^must be true or false$/],
    [
      "date",
      ["2024", "1704067200000", 1_704_067_200_000, "31.05.2024", "2024-5-31", "tomorrow", true],
      /^must be a date/,
    ],
    [
      "object",
      ["lang", "[]", '["en"]', "null", "1", '"{}"', "{lang:1}", '{"a":1}x', "[object Object]", [], 1],
      /^must be a JSON object/,
    ],
  ])("%s", (form, values, detail) => {
    for (const sent of values) {
      const refused = read(form, sent);
      expect([sent, refused]).toMatchObject([sent, { kind: "refusal", error: { code: -32602, data: { field: "p" } } }]);
      if (refused.kind === "refusal") expect(refused.error.data.detail).toMatch(detail);
    }
  });
});

test.each<ParamForm>(["text", "number", "boolean", "date", "object"])("an empty %s is none", (form) => {
  for (const sent of [undefined, null, ""]) {
    expect(read(form, sent)).toEqual({ kind: "value", value: undefined });
    expect(read(form, sent, true)).toMatchObject({ kind: "refusal", error: { data: { detail: /^is required, and/ } } });
  }
});

test("an object of a hundred thousand levels is refused, as text and as it is", () => {
  const text = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
  for (const sent of [text, JSON.parse(text)])
    expect(read("object", sent)).toMatchObject({ kind: "refusal", error: { data: { detail: /at most 1000 levels/ } } });
});
