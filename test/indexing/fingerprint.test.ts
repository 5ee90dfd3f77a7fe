import fc from "fast-check";
import { expect, test } from "vitest";
import { fingerprintOf, hammingDistance } from "../../src/indexing/fingerprint.ts";

const TEXT =
  "Alterations of the white matter in the developing human brain can affect cortical development and result in disabilities. " +
  "A line scan was applied to measure the apparent diffusion coefficient and to delineate the architecture of the fibres. " +
  "Newborns of twenty eight to forty weeks were studied, and the coefficient fell with age while anisotropy rose.";

test("a fingerprint is what its definition says, so stored ones stay comparable", () => {
  // Worked out by an independent program from the definition: FNV-1a over UTF-16 units, fmix32, majority of the shingles.
  expect(fingerprintOf("Hello!")).toBe(-8607093096312374260n);
  expect(fingerprintOf("The quick brown fox jumps over the lazy dog.")).toBe(-1874652486956467762n);
  expect(fingerprintOf("黑豹")).toBe(-1830266986953867068n);
});

test("marks, case, line breaks and Unicode form do not matter", () => {
  expect(fingerprintOf("Caf\u00e9 au lait,\r\nplease!")).toBe(fingerprintOf("CAFE\u0301 au LAIT please"));
});

test("a changed word changes few bits, another text about half", () => {
  const edited = TEXT.replace("cortical", "cerebral");
  const other =
    "Panthers defense gave up just 308 points and ranked sixth in the league while also leading it in interceptions.";
  expect(hammingDistance(fingerprintOf(TEXT), fingerprintOf(edited))).toBeLessThanOrEqual(12);
  expect(hammingDistance(fingerprintOf(TEXT), fingerprintOf(other))).toBeGreaterThan(16);
});

test("the order of words matters", () => {
  expect(fingerprintOf("one two three four five")).not.toBe(fingerprintOf("five four three two one"));
});

test("a text without words has the fingerprint 0", () => {
  expect(fingerprintOf(" … \n")).toBe(0n);
});

test("every fingerprint is a signed 64-bit number", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const fingerprint = fingerprintOf(text);
      expect(BigInt.asIntN(64, fingerprint)).toBe(fingerprint);
    }),
  );
});

test("distance counts differing bits, of negative numbers too", () => {
  expect(hammingDistance(0n, 0n)).toBe(0);
  expect(hammingDistance(5n, 6n)).toBe(2);
  expect(hammingDistance(-1n, 0n)).toBe(64);
  expect(hammingDistance(-(1n << 63n), (1n << 63n) - 1n)).toBe(64);
});
