import { expect, test } from "vitest";
import { LANGUAGES } from "../../src/catalog/languages.ts";
import { stopWordsOf } from "../../src/catalog/stop-words.ts";
import { countTerms, queryTerms, tokenize } from "../../src/catalog/tokenize.ts";

test("terms are lower-case stems in order, repetitions and stop words included", () => {
  expect(tokenize("The cells were running; a cell RUNS.", "english")).toEqual([
    "the",
    "cell",
    "were",
    "run",
    "a",
    "cell",
    "run",
  ]);
});

test("composed and decomposed spellings are one term", () => {
  expect(tokenize("e\u0301te\u0301 ÉTÉ", "none")).toEqual(["\u00e9t\u00e9", "\u00e9t\u00e9"]);
});

test("a typographic apostrophe is an apostrophe", () => {
  expect(tokenize("the patient’s L'Oréal", "english")).toEqual(tokenize("the patient's L’Oréal", "english"));
  expect(tokenize("l’homme", "french")).toEqual(["homm"]);
});

test("Turkish has its own lower case for I", () => {
  expect(tokenize("IRMAK İZMİR", "turkish")).toEqual(["ırmak", "izmir"]);
  expect(tokenize("IRMAK", "none")).toEqual(["irmak"]);
});

test("U+0000 separates words", () => {
  expect(tokenize("blood\u0000cell", "none")).toEqual(["blood", "cell"]);
});

test("a term over 256 UTF-8 bytes is cut at a character, and before stemming", () => {
  expect(tokenize("x".repeat(300), "english")).toEqual(["x".repeat(256)]);
  expect(tokenize("é".repeat(200), "none")).toEqual(["é".repeat(128)]);
  // 255 ASCII bytes leave one, too little for the two of é.
  expect(tokenize(`${"x".repeat(255)}é`, "none")).toEqual(["x".repeat(255)]);
  expect(tokenize("𐐨".repeat(70), "none")).toEqual(["𐐨".repeat(64)]);
});

test("text without words has no terms", () => {
  expect(tokenize("", "english")).toEqual([]);
  expect(tokenize(" — … 🙂 \n", "english")).toEqual([]);
});

test("inherited names are terms like any other", () => {
  expect(tokenize("constructor __proto__ toString", "none")).toEqual(["constructor", "__proto__", "tostring"]);
  expect([...queryTerms("constructor hasOwnProperty", "english").values()]).toEqual([1, 1]);
});

test("a query counts its terms and leaves stop words out", () => {
  expect([...queryTerms("What is the role of cells in a cell?", "english")]).toEqual([
    ["role", 1],
    ["cell", 2],
  ]);
});

test("a query of stop words alone keeps them", () => {
  expect([...queryTerms("The The", "english")]).toEqual([["the", 2]]);
  expect([...queryTerms("To be, or not to be", "english").keys()]).toEqual(["to", "be", "or", "not"]);
});

test("every language tokenizes, and its stop words are single lower-case NFC words", () => {
  for (const language of LANGUAGES) {
    expect(tokenize("2026", language)).toEqual(["2026"]);
    for (const word of stopWordsOf(language)) expect(tokenize(word, "none").join("")).toBe(word);
  }
  expect(stopWordsOf("english").size).toBeGreaterThan(50);
});

test("counts keep the order of first occurrence", () => {
  expect([...countTerms(["b", "a", "b"])]).toEqual([
    ["b", 2],
    ["a", 1],
  ]);
});
