import { expect, test } from "vitest";
import { estimateTokens } from "../../src/models/estimate-tokens.ts";

test.each([
  ["", 2],
  ["   \n", 2],
  ["cat", 2 + 1],
  ["retrieval", 2 + 3],
  ["the cat sat.", 2 + 3 + 1],
  ["2024-11", 2 + 2 + 1 + 1],
  // Two bytes of UTF-8 to a token: three for each Chinese character, two for é, four for the face.
  ["检索", 2 + 3],
  ["café", 2 + 1 + 1],
  ["😀", 2 + 2],
  ["ab检 1", 2 + 1 + 2 + 1],
  // A run longer than any English word is no English word.
  ["abcdefghijklmnopqrst", 2 + 10],
])("%j counts as %i tokens", (text, tokens) => {
  expect(estimateTokens(text)).toBe(tokens);
});

test("an accent typed as a letter of its own counts as the composed letter does", () => {
  expect(estimateTokens("cafe\u0301")).toBe(estimateTokens("café"));
});
