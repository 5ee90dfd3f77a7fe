import fc from "fast-check";
import { expect, test } from "vitest";
import {
  blockOf,
  type ChunkTerms,
  firstChunkOf,
  forEachPosting,
  type PostingBlock,
  packPostings,
  postingsIn,
  withoutChunks,
} from "../../src/catalog/posting-block.ts";

const chunk = (chunkNo: number, length: number, counts: Readonly<Record<string, number>>): ChunkTerms => ({
  chunkNo,
  length,
  counts: new Map(Object.entries(counts)),
});

const postingsOf = (block: PostingBlock): (readonly [number, number, number])[] => {
  const found: (readonly [number, number, number])[] = [];
  forEachPosting(block, (offset, frequency, length) => found.push([offset, frequency, length]));
  return found;
};

test("a posting is 12 bits of offset, 8 of frequency and 12 of length", () => {
  const [block] = packPostings([chunk(0xabc, 0x123, { cell: 0x45 })]);

  expect(block).toMatchObject({ term: "cell", block: 0 });
  expect([...(block?.packed ?? [])]).toEqual([0xab, 0xc4, 0x51, 0x23]);
  expect(block?.wide).toHaveLength(0);
});

test("4096 chunk numbers share a block, and rows are ordered by term, then block", () => {
  const rows = packPostings([chunk(4095, 2, { b: 1, a: 1 }), chunk(4096, 1, { b: 1 })]);

  expect(rows.map(({ term, block }) => [term, block])).toEqual([
    ["a", 0],
    ["b", 0],
    ["b", 1],
  ]);
  expect(rows.map(postingsOf)).toEqual([[[4095, 1, 2]], [[4095, 1, 2]], [[0, 1, 1]]]);
  expect(blockOf(4096)).toBe(1);
  expect(firstChunkOf(1)).toBe(4096);
});

test("a frequency of 255 or a length of 4095 and more is kept in full beside the packed posting", () => {
  const [block] = packPostings([
    chunk(1, 300, { x: 254 }),
    chunk(2, 300, { x: 255 }),
    chunk(3, 4094, { x: 1 }),
    chunk(4, 4095, { x: 1 }),
    chunk(5, 1_000_000, { x: 70_000 }),
  ]);
  if (block === undefined) throw new Error("one term is one block");

  // Offset 5, frequency 255, length 4095 clipped; then 5, 70,000 = 0x11170, 1,000,000 = 0xf4240 in full.
  expect([...block.packed.subarray(16)]).toEqual([0x00, 0x5f, 0xff, 0xff]);
  expect([...block.wide.subarray(20)]).toEqual([0, 5, 0, 1, 0x11, 0x70, 0, 0x0f, 0x42, 0x40]);
  expect(block.wide).toHaveLength(30);
  expect(postingsIn(block)).toBe(5);
  expect(postingsOf(block)).toEqual([
    [1, 254, 300],
    [2, 255, 300],
    [3, 1, 4094],
    [4, 1, 4095],
    [5, 70_000, 1_000_000],
  ]);
});

test("blocks written one after the other read as one when their bytes are joined", () => {
  const chunks = fc.uniqueArray(
    fc.record({
      chunkNo: fc.nat(4095),
      length: fc.oneof(fc.integer({ min: 1, max: 600 }), fc.integer({ min: 4090, max: 0xffffffff })),
      frequency: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 250, max: 0xffffffff })),
    }),
    { selector: (item) => item.chunkNo, maxLength: 30 },
  );
  fc.assert(
    fc.property(chunks, fc.nat(30), (sample, cut) => {
      const all = sample.toSorted((a, b) => a.chunkNo - b.chunkNo);
      const packed = [all.slice(0, cut), all.slice(cut)].flatMap((part) =>
        packPostings(part.map(({ chunkNo, length, frequency }) => chunk(chunkNo, length, { t: frequency }))),
      );
      const joined: PostingBlock = {
        term: "t",
        block: 0,
        packed: Buffer.concat(packed.map((row) => row.packed)),
        wide: Buffer.concat(packed.map((row) => row.wide)),
      };
      expect(postingsOf(joined)).toEqual(all.map((item) => [item.chunkNo, item.frequency, item.length]));
    }),
  );
});

test("inherited names are terms like any other", () => {
  expect(packPostings([chunk(0, 1, { constructor: 1 })])[0]?.term).toBe("constructor");
});

test("a block without some chunks is the block that was never told of them", () => {
  const wide = 300;
  const chunks = [0, 1, 7, 4095].map((chunkNo) =>
    chunk(chunkNo, chunkNo === 7 ? 9_000 : 5, { cell: chunkNo === 1 ? wide : 2 }),
  );
  const [all] = packPostings(chunks);
  const [left] = packPostings(chunks.filter(({ chunkNo }) => chunkNo === 0 || chunkNo === 7));
  expect(all && withoutChunks(all, new Set([1, 4095, 8192]))).toEqual(left);
  expect(all && withoutChunks(all, new Set([5])).packed).toBe(all?.packed);
  expect(all && postingsIn(withoutChunks(all, new Set([0, 1, 7, 4095])))).toBe(0);
});

test("a later block's chunks are known by their whole number", () => {
  const [block] = packPostings([chunk(4096, 1, { cell: 1 }), chunk(4097, 1, { cell: 1 })]);
  expect(block && postingsOf(withoutChunks(block, new Set([0, 4097])))).toEqual([[0, 1, 1]]);
});
