import { expect, test } from "vitest";
import { isLanguage, LANGUAGES, stemmerFor } from "../../src/catalog/languages.ts";

// From the reference vocabularies of the Snowball project.
const STEMS: readonly (readonly [language: string, word: string, stem: string])[] = [
  ["english", "consistency", "consist"],
  ["english", "generously", "generous"],
  ["english", "skies", "sky"],
  ["german", "aufeinanderfolgenden", "aufeinanderfolg"],
  ["german", "häuser", "haus"],
  // Compounds stay whole: only what ends one is cut.
  ["german", "aufeinanderschlügen", "aufeinanderschlug"],
  ["german", "hausmeistern", "hausmeist"],
  ["german", "straßen", "strass"],
  ["french", "majestueusement", "majestu"],
  ["french", "continuellement", "continuel"],
  ["spanish", "chicharrones", "chicharron"],
  ["italian", "pronunciamento", "pronunc"],
  ["portuguese", "quilométricas", "quilométr"],
  ["dutch", "opgevangen", "opvang"],
  ["swedish", "jaktkarlarne", "jaktkarl"],
  ["norwegian", "havnedistriktene", "havnedistrikt"],
  ["finnish", "edeltäneet", "edeltän"],
  ["russian", "важнейшие", "важн"],
  ["russian", "поклонами", "поклон"],
  ["turkish", "akşamları", "akşam"],
  ["hungarian", "babakocsijáért", "babakocs"],
  ["romanian", "abruptă", "abrupt"],
  ["greek", "αγαπημένων", "αγαπημεν"],
];

test.each(STEMS)("%s: %s has the stem %s", (language, word, stem) => {
  expect(stemmerFor(language)(word)).toBe(stem);
});

test.each(["none", "chinese", "japanese", "korean", "thai"])("%s leaves words as they are", (language) => {
  expect(stemmerFor(language)("running")).toBe("running");
});

test("languages are named once, in order, and nothing inherited is a language", () => {
  expect(LANGUAGES).toEqual([...new Set(LANGUAGES)].sort());
  expect(LANGUAGES).toContain("english");
  expect(isLanguage("english")).toBe(true);
  expect(isLanguage("English")).toBe(false);
  expect(isLanguage("constructor")).toBe(false);
  expect(() => stemmerFor("__proto__")).toThrow("a corpus language must be one of");
});
