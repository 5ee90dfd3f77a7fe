import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { section as makeSection, rule, untried } from "../../src/conformance/rule.ts";
import { ruleTable } from "../../src/conformance/rule-table.ts";
import { SECTIONS } from "../../src/conformance/sections.ts";

const RULES = SECTIONS.flatMap(({ rules }) => rules);
const CHECKS = SECTIONS.flatMap(({ checks }) => checks);
const TABLE = new URL("../../src/conformance/RULES.md", import.meta.url);

describe("the rules", () => {
  test("have an id each", () => {
    expect(new Set(RULES.map(({ id }) => id)).size).toBe(RULES.length);
  });

  test("have either a check or a reason why there is none", () => {
    const tried = new Set(CHECKS.flatMap(({ rules }) => rules));
    const wrong = RULES.filter(({ id, unchecked }) => tried.has(id) === (unchecked !== undefined)).map(({ id }) => id);
    expect(wrong).toEqual([]);
  });

  test("that a check names are there", () => {
    const ids = new Set(RULES.map(({ id }) => id));
    expect(CHECKS.flatMap(({ rules }) => rules).filter((id) => !ids.has(id))).toEqual([]);
  });

  test("that bind a client alone have no check", () => {
    expect(RULES.filter(({ side, unchecked }) => side === "client" && unchecked !== "client-side rule")).toEqual([]);
  });

  test("cover every section of RCP/1 that has normative words", () => {
    const sections = SECTIONS.map(({ section }) => section);
    const normative =
      "3.3 4.1 4.4 4.6 4.7 4.8 5.1 5.2 6 7 7.1 7.3 7.6 7.7 7.7.1 7.7.2 7.9 7.10 7.14 7.16 8 9 11 12 13 13.1 13.2 14 15 16 17";
    expect(normative.split(" ").filter((number) => !sections.includes(number))).toEqual([]);
  });
});

test("two checks of a section have two names", () => {
  for (const { section, checks } of SECTIONS) {
    const names = checks.map(({ name, transport }) => `${name} ${transport}`);
    expect(new Set(names).size, section).toBe(names.length);
  }
});

describe("the table", () => {
  test("that is committed is the one that the code writes", () => {
    expect(readFileSync(TABLE, "utf8")).toBe(ruleTable(SECTIONS));
  });

  test("shows a rule with its checks, or the reason it has none, and nothing that Markdown takes for its own", () => {
    const checks = [{ name: "a | b_c", rules: ["held"], run: async () => {} }];
    const rules = [rule("held", "MUST", "hold"), untried("unseen", "SHOULD", "hide", "not seen")];

    const table = ruleTable([makeSection("9.9", "Example", rules, checks)]);

    expect(table).toContain(
      "| 9.9/held | MUST | server | hold | a \\| b\\_c |\n| 9.9/unseen | SHOULD | server | hide | *not seen* |\n",
    );
  });
});
