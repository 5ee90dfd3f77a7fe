import { expect, test } from "vitest";
import { readVector, vectorLiteral } from "../../src/sql/vector-literal.ts";

test("a vector is spelt in half precision, in digits that are read as the same number again", () => {
  // 0.1 lies between 0.09998 and 0.10004, in steps of 2^-14; the smallest of all is 2^-24.
  expect(vectorLiteral(Float32Array.of(0.5, -0.25, 0.1, 0, 2 ** -24))).toBe("[0.5,-0.25,0.099976,0,5.9605e-8]");
});

test("every number of half precision is read as itself again", () => {
  const halves = new Float16Array(Uint16Array.from({ length: 65_536 }, (_, bits) => bits).buffer).filter(
    Number.isFinite,
  );

  const read = readVector(vectorLiteral(Float32Array.from(halves)));

  expect(halves.findIndex((half, index) => half + 0 !== Math.f16round(read[index] ?? Number.NaN))).toBe(-1);
});
