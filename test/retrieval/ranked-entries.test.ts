import { expect, test } from "vitest";
import { packEntries, unpackEntries } from "../../src/retrieval/ranked-entries.ts";

test("a list comes back to the last bit, and what is not known stays unknown", () => {
  const ranked = [
    { chunkNo: 0, score: 0.1 + 0.2, dense: -1, sparse: undefined },
    { chunkNo: 2_147_483_647, score: 5e-324, dense: undefined, sparse: 0, rerank: -12.5 },
    { chunkNo: 7, score: Number.MAX_VALUE, dense: 0.3, sparse: 17.25 },
  ];
  expect(unpackEntries(packEntries(ranked))).toEqual(ranked);
  expect(packEntries(ranked)).toHaveLength(120);
});

test("bytes that lie within others are read where they lie", () => {
  const ranked = [{ chunkNo: 3, score: 1.5, dense: undefined, sparse: 2 }];
  const packed = packEntries(ranked);
  const around = new Uint8Array(packed.length + 3);
  around.set(packed, 3);
  expect(unpackEntries(around.subarray(3))).toEqual(ranked);
});

test("an empty list is empty", () => expect(unpackEntries(packEntries([]))).toEqual([]));
