import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { screenText } from "../../src/trust/screen-text.ts";
import { TECHNIQUES } from "../support/hide-text.ts";

/** Folders with the sets, which are not part of this project; src/trust/README.md says what they hold. */
const { PGRCP_TEST_INJECTION_SETS: injection, PGRCP_TEST_IR_SETS: ir } = process.env;

interface Row {
  readonly label?: 0 | 1;
  readonly kind?: string;
  readonly title?: string;
  readonly text: string;
}

const rows = (file: string): readonly Row[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
const isSuspected = ({ title, text }: Row) => screenText(title ? `${title}\n${text}` : text).injectionSuspected;

/** The share of rows that are suspected; it is printed, for the README. */
function share(what: string, among: readonly Row[]): number {
  const suspected = among.filter(isSuspected).length;
  console.info(`${what}: ${suspected} of ${among.length}`);
  expect(among.length).toBeGreaterThan(0);
  return suspected / among.length;
}

describe.runIf(injection !== undefined)("public sets of injections", () => {
  const direct = injection === undefined ? [] : rows(`${injection}/direct-and-hard-negatives.jsonl`);
  const indirect = injection === undefined ? [] : rows(`${injection}/bipia-passages.jsonl`);
  const of = (among: readonly Row[], label: 0 | 1, kind = /./) =>
    among.filter((row) => row.label === label && kind.test(row.kind ?? ""));

  test.each([
    ["Giskard, garak and PromptInject", /giskard/],
    ["PINT", /PINT/],
    ["moltshield", /moltshield/],
    ["all three", /./],
  ])("three of five direct attacks of %s are caught", (name, kind) => {
    expect(share(`attacks of ${name}`, of(direct, 1, kind))).toBeGreaterThanOrEqual(0.6);
  });

  test("what is caught in the open is caught hidden, nine times of ten", () => {
    const open = of(direct, 1).filter((row) => row.text.length < 700 && isSuspected(row));
    const hidden = Object.values(TECHNIQUES).flatMap((hide) => open.map(({ text }) => ({ text: hide(text) })));
    expect(share("hidden attacks", hidden)).toBeGreaterThanOrEqual(0.9);
  });

  test("of harmless prompts with trigger words three in a hundred may be suspected", () => {
    expect(share("trigger words", of(direct, 0, /NotInject|WildGuard/))).toBeLessThanOrEqual(0.03);
    expect(share("harmless texts", of(direct, 0))).toBeLessThanOrEqual(0.03);
  });

  test("of BIPIA some attacks are caught, and one clean passage in a hundred may be suspected", () => {
    expect(share("BIPIA attacks", of(indirect, 1))).toBeGreaterThan(0.2);
    expect(share("BIPIA clean", of(indirect, 0))).toBeLessThanOrEqual(0.01);
  });
});

describe.runIf(ir !== undefined)("public passages", () => {
  test.each(["scifact", "xquad-en", "xquad-zh"])("one passage in a hundred of %s may be suspected", (name) => {
    expect(share(name, rows(`${ir}/${name}/corpus.jsonl`))).toBeLessThanOrEqual(0.01);
  });
});
