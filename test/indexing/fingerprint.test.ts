import fc from "fast-check";
import { expect, test } from "vitest";
import { fingerprintOf } from "../../src/indexing/fingerprint.ts";

const hex = (text: string, trust: "trusted" | "community" | "untrusted" = "untrusted") =>
  BigInt(`0b${fingerprintOf(text, trust)}`)
    .toString(16)
    .padStart(32, "0");
const distance = (a: string, b: string) => {
  const other = fingerprintOf(b, "untrusted") ?? "";
  return [...(fingerprintOf(a, "untrusted") ?? "")].filter((bit, place) => bit !== other[place]).length;
};

const PANGRAM = "The quick brown fox jumps over the lazy dog while seven wizards quietly mix a dozen liquor jugs.";
const EIGHT = "Call, one two three: four five six seven!";
const PASSAGE =
  "Alterations of the white matter in the developing human brain can affect cortical development and result in disabilities.";

test("a fingerprint is what its definition says, so stored ones stay comparable", () => {
  // Worked out by an independent program from the definition: FNV-1a over UTF-16 units of two words, fmix32 with a seed for each
  // 32 bits, majority of the shingles; SHA-256 of the words of a short text.
  expect(hex(PANGRAM)).toBe("3ff7f8ec7533db4b976ca65d5c80ea53");
  expect(hex(EIGHT)).toBe("75e93e706ab6f315555ad8f8b243d1df");
  expect(hex(EIGHT, "trusted")).toBe("87c445c8166260dc88c7bd9e23e45092");
});

test.each([
  [
    "marks, case and line breaks",
    "THE quick brown fox, jumps\r\nover the lazy dog; while seven wizards quietly mix a dozen liquor jugs!",
  ],
  ["hidden characters", PANGRAM.replace("quick", "qu\u200bick").replace("lazy", "la\u00adzy")],
  ["letters of another shape", PANGRAM.replace("dozen", "d\u043ez\u0435n").replace("fox", "\uff46\uff4f\uff58")],
])("%s do not matter", (_, text) => {
  expect(fingerprintOf(text, "untrusted")).toBe(fingerprintOf(PANGRAM, "untrusted"));
});

test("a changed word changes few bits, another text about half", () => {
  expect(distance(PASSAGE, PASSAGE.replace("cortical", "cerebral"))).toBeLessThanOrEqual(32);
  expect(distance(PANGRAM, PASSAGE)).toBeGreaterThan(40);
});

test("in a text of less than 16 words, and in a trusted one, a changed word is another text", () => {
  const short = "Invoice 1201 of March to Ada Hill over 340 euros is payable within thirty days";
  expect(distance(short, short.replace("1201", "1202"))).toBeGreaterThan(40);
  expect(fingerprintOf(PASSAGE, "trusted")).toBe(fingerprintOf(PASSAGE.toUpperCase(), "trusted"));
  expect(hex(PASSAGE, "trusted")).not.toBe(hex(PASSAGE.replace("cortical", "cerebral"), "trusted"));
});

test("a trusted text has no fingerprint in common with a copy that is not, a community one has", () => {
  for (const text of [EIGHT, PASSAGE]) {
    expect(fingerprintOf(text, "trusted")).not.toBe(fingerprintOf(text, "untrusted"));
    expect(fingerprintOf(text, "community")).toBe(fingerprintOf(text, "untrusted"));
  }
});

test.each(["", "…", "word", "one two three four five six seven"])(
  "a text of less than eight words has none: %s",
  (text) => {
    expect(fingerprintOf(text, "untrusted")).toBeNull();
    expect(fingerprintOf(text, "trusted")).toBeNull();
  },
);

test("every fingerprint has 128 bits", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
      expect(fingerprintOf(text, "untrusted") ?? "0".repeat(128)).toMatch(/^[01]{128}$/);
    }),
  );
});
