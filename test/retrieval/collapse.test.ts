import { expect, test } from "vitest";
import { collapse } from "../../src/retrieval/collapse.ts";

/** A fingerprint of so many ones, from a place on. */
const ones = (count: number, from = 0) => "0".repeat(from).concat("1".repeat(count)).padEnd(128, "0");

/** `id fingerprint`, best first, each a document of one chunk. */
const collapsed = async (most: number, documents: readonly (readonly [string, string])[]) => {
  const candidates = documents.map(([docId, print], chunkNo) => ({
    ...{ chunkNo, docId, ordinal: 0, print, dense: undefined, sparse: undefined },
  }));
  const { left, full } = await collapse(candidates, most, new AbortController().signal);
  return { left: left.map(({ docId }) => docId).join(""), full };
};

test("of a group the first stay, in their places, and others are not touched", async () => {
  const same = ones(3);
  const all = [
    ["a", same],
    ["x", ones(64, 64)],
    ["b", same],
    ["c", same],
  ] as const;
  expect(await collapsed(2, all)).toEqual({ left: "axb", full: [same] });
  expect(await collapsed(3, all)).toEqual({ left: "axbc", full: [] });
});

test("32 bits apart are near, 33 are not, wherever they are", async () => {
  for (const from of [0, 20, 95]) {
    expect(
      (
        await collapsed(1, [
          ["a", ones(0)],
          ["b", ones(32, from)],
        ])
      ).left,
    ).toBe("a");
    expect(
      (
        await collapsed(1, [
          ["a", ones(0)],
          ["b", ones(33, from)],
        ])
      ).left,
    ).toBe("ab");
  }
});

test("what is left out is near to one that is left: a chain of records is not one group", async () => {
  // 30 bits from one to the next, 60 from end to end.
  const chain = [
    ["a", ones(0)],
    ["b", ones(30)],
    ["c", ones(60)],
  ] as const;
  expect((await collapsed(1, chain)).left).toBe("ac");
  expect((await collapsed(1, [chain[1], chain[0], chain[2]])).left).toBe("b");
});

test("a candidate counts with the group of any that is left, not of its first alone", async () => {
  expect(
    (
      await collapsed(2, [
        ["a", ones(0)],
        ["b", ones(30)],
        ["c", ones(60)],
      ])
    ).left,
  ).toBe("ab");
});

test("whoever is near to a full group is left out, though another that it is near to has room", async () => {
  // x has room and is 40 bits from a; y is 20 bits from both.
  const between = [
    ["x", ones(40)],
    ["a", ones(0)],
    ["b", ones(0)],
    ["y", ones(20)],
  ] as const;
  expect(await collapsed(2, between)).toEqual({ left: "xab", full: [ones(0)] });
});

test("a candidate without a fingerprint stays, and an abort ends it", async () => {
  const none = { docId: "none", chunkNo: 7, ordinal: 0, print: undefined, dense: 1, sparse: undefined };
  expect((await collapse([none, none], 1, new AbortController().signal)).left).toEqual([none, none]);
  await expect(collapse([none], 1, AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
});

test("chunks of one document count as one", async () => {
  const scores = { dense: 1, sparse: undefined };
  const chunk = (docId: string, chunkNo: number) => ({ docId, chunkNo, ordinal: 0, print: ones(9), ...scores });
  const candidates = [chunk("a", 1), chunk("b", 2), chunk("a", 3), chunk("b", 4)];
  const { signal } = new AbortController();
  expect((await collapse(candidates, 1, signal)).left.map(({ chunkNo }) => chunkNo)).toEqual([1, 3]);
  expect(await collapse(candidates, 2, signal)).toEqual({ left: candidates, full: [] });
});
