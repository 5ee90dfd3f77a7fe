import fc from "fast-check";
import { expect, test } from "vitest";
import { words } from "../../src/catalog/words.ts";

const segmenter = new Intl.Segmenter("en", { granularity: "word" });
const segmentedWords = (text: string): string[] =>
  [...segmenter.segment(text)].filter((part) => part.isWordLike).map((part) => part.segment);

test("letters, digits and joining signs make one word; other signs divide", () => {
  expect(words("Dr. O'Neil paid 1,000.50 to a_b-c (e.g. x:y, 3:4)")).toEqual([
    "Dr",
    "O'Neil",
    "paid",
    "1,000.50",
    "to",
    "a_b",
    "c",
    "e.g",
    "x:y",
    "3",
    "4",
  ]);
});

test("Chinese, Japanese and Thai are divided without spaces", () => {
  expect(words("我们喜欢北京")).toEqual(["我们", "喜欢", "北京"]);
  expect(words("東京に住む")).toEqual(["東京", "に", "住む"]);
  expect(words("ภาษาไทย")).toEqual(["ภาษา", "ไทย"]);
});

test("every character up to the table's last divides words as the segmenter does, in any company", () => {
  for (let code = 0; code < 0x2400; code++) {
    const c = String.fromCharCode(code);
    const text = `${c} ${c}${c} a${c}b 1${c}2 a${c}1 1${c}a _${c}_ a.${c} 1,${c} ${c}'b a${c}${c}b\n${c}`;
    const found = words(text);
    const expected = segmentedWords(text);
    if (found.join("|") !== expected.join("|")) expect({ code, found }).toEqual({ code, found: expected });
  }
});

test("every short mixture of word characters and signs divides as the segmenter does", () => {
  const alphabet = ["a", "1", "_", ":", "'", ".", ",", " ", "\n", "-", "é"];
  const check = (text: string, longer: number): void => {
    if (words(text).join("|") !== segmentedWords(text).join("|")) expect(words(text)).toEqual(segmentedWords(text));
    if (longer > 0) for (const next of alphabet) check(text + next, longer - 1);
  };
  check("", 4);
});

test("any text divides as the segmenter does", () => {
  const telling =
    "a1_:'\".,; \n\r\t\0-ßжΩµ\u0301\u200d\u00ad漢字かカーไทยא\u05f3🙂🇩🇪👩\u200b٣한½²·\u2009\u00a0\u2028‘’“Aİक\u094d\ufeff\ud800";
  const text = fc.string({ unit: fc.constantFrom(...telling), maxLength: 40 });
  fc.assert(
    fc.property(fc.oneof(text, fc.string({ unit: "binary", maxLength: 40 })), (sample) => {
      expect(words(sample)).toEqual(segmentedWords(sample));
    }),
    { numRuns: 5_000 },
  );
});
