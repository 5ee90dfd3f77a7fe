import { expect, test } from "vitest";
import { table, visible, visibleLine } from "../../src/cli/terminal-text.ts";

test("characters that a terminal acts on or does not show are written out", () => {
  expect(visible("\u001b[31mred\u0007 \u009b2J a\u202eb \u200b\ufeff \u{e0041} \u2066")).toBe(
    "\\u{1b}[31mred\\u{7} \\u{9b}2J a\\u{202e}b \\u{200b}\\u{feff} \\u{e0041} \\u{2066}",
  );
});

test("a lone carriage return could overwrite the line, one before a line feed cannot", () => {
  expect(visible("a\rb\r\nc\n\td")).toBe("a\\u{d}b\nc\n\td");
});

test("letters of every script stay", () => {
  expect(visible("naïve 中文 العربية ไทย 👍🏽")).toBe("naïve 中文 العربية ไทย 👍🏽");
});

test("one line has no line breaks of any kind", () => {
  expect(visibleLine(" a\n b\t\u2028c ")).toBe("a b \\u{2028}c");
});

test("columns are aligned, numbers to the right", () => {
  expect(
    table([
      ["id", "count", "note"],
      ["a", 7, "x"],
      ["long", 1234, ""],
    ]),
  ).toBe("id    count  note\na         7  x\nlong   1234\n");
});
