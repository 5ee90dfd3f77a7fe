import { expect, test } from "vitest";
import { collapse } from "../../src/retrieval/collapse.ts";

const LONG = 500;
/** `id fingerprint characters`, best first, each a document of one chunk. */
const left = async (most: number, documents: readonly (readonly [string, bigint, number])[]) => {
  const candidates = documents.map(([docId], chunkNo) => ({
    chunkNo,
    docId,
    ordinal: 0,
    dense: undefined,
    sparse: undefined,
  }));
  const prints = new Map(documents.map(([, fingerprint, characters], no) => [no, { fingerprint, characters }]));
  return (await collapse(candidates, prints, most, new AbortController().signal)).map(({ docId }) => docId).join("");
};

test("of a group the first stay, in their places, and others are not touched", async () => {
  expect(
    await left(2, [
      ["a", 1n, LONG],
      ["x", -1n, LONG],
      ["b", 1n, LONG],
      ["c", 1n, LONG],
    ]),
  ).toBe("axb");
});

test("twelve bits apart are near, thirteen are not", async () => {
  const far = BigInt.asIntN(64, 0x8000_0001_0000_0000n);
  const twelve = BigInt.asIntN(64, far ^ 0x0000_001e_0000_00ffn); // 4 bits above, 8 below
  const thirteen = BigInt.asIntN(64, far ^ 0x0000_001e_0000_01ffn);
  expect(
    await Promise.all(
      [twelve, thirteen].map((other) =>
        left(1, [
          ["a", far, LONG],
          ["b", other, LONG],
        ]),
      ),
    ),
  ).toEqual(["a", "ab"]);
});

test("what is left out is near to one that is left: a chain of records is not one group", async () => {
  const [one, between, two] = [1n, 0x3ffn, 0xf_ffffn]; // 9 and 10 bits apart, 19 from end to end
  expect(
    await left(1, [
      ["a", one, LONG],
      ["b", between, LONG],
      ["c", two, LONG],
    ]),
  ).toBe("ac");
  expect(
    await left(1, [
      ["b", between, LONG],
      ["a", one, LONG],
      ["c", two, LONG],
    ]),
  ).toBe("b");
});

test("a document counts with the group of any that is left, not of its first alone", async () => {
  const [one, between, two] = [1n, 0x3ffn, 0xf_ffffn];
  expect(
    await left(2, [
      ["a", one, LONG],
      ["b", between, LONG],
      ["c", two, LONG],
    ]),
  ).toBe("ab");
});

test("an abort ends it", async () => {
  await expect(collapse([], new Map(), 1, AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
});

test("short texts are duplicates only with equal fingerprints; texts without words never are", async () => {
  expect(
    await left(1, [
      ["a", 1n, 99],
      ["b", 3n, LONG],
      ["c", 1n, 99],
    ]),
  ).toBe("ab");
  expect(
    await left(1, [
      ["a", 1n, 100],
      ["b", 3n, 100],
    ]),
  ).toBe("a");
  expect(
    await left(1, [
      ["a", 0n, LONG],
      ["b", 0n, LONG],
    ]),
  ).toBe("ab");
});

test("chunks of one document count as one, and go or stay together", async () => {
  const chunk = (docId: string, chunkNo: number) => ({ docId, chunkNo, ordinal: 0, dense: 1, sparse: undefined });
  const candidates = [chunk("a", 1), chunk("b", 2), chunk("a", 3), chunk("b", 4)];
  const prints = new Map(candidates.map(({ chunkNo }) => [chunkNo, { fingerprint: 7n, characters: LONG }]));
  const { signal } = new AbortController();
  expect((await collapse(candidates, prints, 1, signal)).map(({ chunkNo }) => chunkNo)).toEqual([1, 3]);
  expect(await collapse(candidates, prints, 2, signal)).toEqual(candidates);
});
