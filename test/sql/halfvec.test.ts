import { expect, test } from "vitest";
import { halfvecBytes, readVector, vectorLiteral } from "../../src/sql/halfvec.ts";
import { compile, sql } from "../../src/sql/sql.ts";
import { openTestDatabase } from "../support/database.ts";

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

test("in binary it is the dimension, nothing, and each number in half precision", () => {
  // 0x3800 is 2^-1, 0xb400 is -2^-2; 0.1 lies between 0x2e66 and 0x2e67, nearer to the first.
  expect(Buffer.from(halfvecBytes(Float32Array.of(0.5, -0.25, 0.1))).toString("hex")).toBe("000300003800b4002e66");
});

test("and the database reads the same vector from both", async () => {
  const vector = Float32Array.from({ length: 384 }, (_, index) => Math.sin(index) / 10);
  const { admin, close } = await openTestDatabase();
  try {
    const read = compile(
      sql`select ${halfvecBytes(vector)}::halfvec(384)::text as bytes, ${vectorLiteral(vector)}::halfvec::text as spelt`,
      (row) => row,
    );
    const [row] = await admin.query(read);
    expect(row?.bytes).toMatch(/^\[0,0\.08\d+,/);
    expect(row?.bytes).toBe(row?.spelt);
  } finally {
    await close();
  }
});
