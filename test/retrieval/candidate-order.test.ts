import fc from "fast-check";
import { expect, test } from "vitest";
import { compareUtf8 } from "../../src/protocol/text.ts";

test("ids are ordered by their UTF-8 bytes, as the database orders them", () => {
  const id = fc.string({ unit: "binary", maxLength: 4 });
  const near = fc
    .tuple(id, fc.constantFrom("\ud7ff", "\ue000", "\uffff", "\u{10000}", "\u{10ffff}"), id)
    .map((parts) => parts.join(""));
  const bytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
  fc.assert(
    fc.property(fc.oneof(id, near), fc.oneof(id, near), (a, b) => {
      expect(Math.sign(compareUtf8(a, b))).toBe(bytes(a, b));
      expect(Math.sign(compareUtf8(a, `${a}${b}`))).toBe(bytes(a, `${a}${b}`));
    }),
    { numRuns: 5_000 },
  );
  expect(compareUtf8("\uffff", "\u{10000}")).toBeLessThan(0);
});
