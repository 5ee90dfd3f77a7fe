import { expect, test } from "vitest";
import type { Candidate } from "../../src/retrieval/candidate.ts";
import { fuse, fuseQueries, type HybridRecall } from "../../src/retrieval/fuse.ts";

const candidate = (chunkNo: number, docId: string, dense: number, sparse: number): Candidate => ({
  chunkNo,
  docId,
  ordinal: 0,
  print: undefined,
  dense,
  sparse,
});

const recallOf = (
  candidates: readonly Candidate[],
  dense: readonly number[],
  sparse: readonly number[],
): HybridRecall => ({
  candidates: new Map(candidates.map((one) => [one.chunkNo, one])),
  dense,
  sparse,
});

const a = candidate(1, "a", 0.8, 0);
const b = candidate(2, "b", 0.6, 3);
const c = candidate(3, "c", 0.1, 4);
const found = recallOf([a, b, c], [1, 2], [3, 2]);
const ids = (fused: readonly Candidate[]) => fused.map((one) => one.docId);

test("rrf: a chunk found by both retrievers outranks one found first by a single retriever", () => {
  const fused = fuse(found, { method: "rrf", rrfK: 60, weights: { dense: 1, sparse: 1 } });
  expect(ids(fused)).toEqual(["b", "a", "c"]); // a and c tie at 1/61 and go by id
  expect(fused[0]?.score).toBeCloseTo(2 / 62, 12);
  expect(fused[1]?.score).toBeCloseTo(1 / 61, 12);
});

test("rrf: equal scores go to the larger summed weight before the smaller id", () => {
  // rrfK 0: z is first of the heavy list alone, 2/1; y is second of the heavy list, 2/2, and first of the light, 1/1: also 2
  const y = candidate(1, "y", 0, 0);
  const z = candidate(2, "a-z", 0, 0);
  const fused = fuse(recallOf([y, z], [2, 1], [1]), { method: "rrf", rrfK: 0, weights: { dense: 2, sparse: 1 } });
  expect(ids(fused)).toEqual(["y", "a-z"]);
});

test("rrf: a weight of 0 silences its list", () => {
  const fused = fuse(found, { method: "rrf", rrfK: 60, weights: { dense: 0, sparse: 1 } });
  expect(ids(fused)).toEqual(["c", "b", "a"]);
  expect(fused[2]?.score).toBe(0);
});

test("weighted: each list is mapped to [0, 1] by its own minimum and maximum", () => {
  // dense list 0.8, 0.6 → 1, 0; sparse list 4, 3 → 1, 0
  const fused = fuse(found, { method: "weighted", weights: { dense: 0.7, sparse: 0.3 } });
  expect(fused.map((one) => [one.docId, one.score])).toEqual([
    ["a", 0.7],
    ["c", 0.3],
    ["b", 0],
  ]);
});

test("weighted: a list whose scores are all alike counts each of its chunks as 1", () => {
  const fused = fuse(recallOf([a], [1], []), { method: "weighted", weights: { dense: 0.5, sparse: 0.5 } });
  expect(fused[0]?.score).toBe(0.5);
});

test("convex: scores are normalised from the function's floor to the best score found", () => {
  // dense: (0.8+1)/1.8 = 1, (0.6+1)/1.8, (0.1+1)/1.8; sparse: 0, 3/4, 1
  const fused = fuse(found, { method: "convex", alpha: 0.5 });
  expect(fused.map((one) => one.docId)).toEqual(["b", "c", "a"]);
  expect(fused[0]?.score).toBeCloseTo(0.5 * (1.6 / 1.8) + 0.5 * 0.75, 12);
  expect(fused[1]?.score).toBeCloseTo(0.5 * (1.1 / 1.8) + 0.5, 12);
  expect(fused[2]?.score).toBeCloseTo(0.5, 12);
});

test("convex: no term of the query anywhere leaves the dense order", () => {
  const fused = fuse(recallOf([candidate(1, "a", 0.1, 0), candidate(2, "b", 0.2, 0)], [2, 1], []), {
    method: "convex",
    alpha: 0.5,
  });
  expect(ids(fused)).toEqual(["b", "a"]);
  expect(fused.every((one) => Number.isFinite(one.score))).toBe(true);
});

test("an empty recall fuses to nothing, whatever the method", () => {
  const none = recallOf([], [], []);
  expect(fuse(none, { method: "rrf", rrfK: 60, weights: { dense: 1, sparse: 1 } })).toEqual([]);
  expect(fuse(none, { method: "weighted", weights: { dense: 1, sparse: 1 } })).toEqual([]);
  expect(fuse(none, { method: "convex", alpha: 0.5 })).toEqual([]);
});

test("ties go by document id in UTF-8 byte order, then by ordinal", () => {
  // U+FF5E is 3 bytes EF BD 9E, U+1F600 is 4 bytes F0 …: UTF-16 order would put the surrogate pair first
  const tilde = { ...candidate(1, "\uFF5E", 0.5, 0), ordinal: 1 };
  const tildeFirst = { ...candidate(2, "\uFF5E", 0.5, 0), ordinal: 0 };
  const face = candidate(3, "\u{1F600}", 0.5, 0);
  const fused = fuse(recallOf([face, tilde, tildeFirst], [], []), { method: "convex", alpha: 1 });
  expect(fused.map((one) => one.chunkNo)).toEqual([2, 1, 3]);
});

test("the lists of several queries are fused by rank, and a chunk keeps the best that was said of it", () => {
  const scored = (one: Candidate, score: number) => ({ ...one, score });
  const other = candidate(2, "b", 0.9, 1);
  // a: 1/61; b: 1/62 + 1/61; c: 1/62
  const fused = fuseQueries([
    [scored(a, 9), scored(b, 8)],
    [scored(other, 0.2), scored(c, 0.1)],
  ]);
  expect(fused).toEqual([
    { ...b, dense: 0.9, sparse: 3, score: 1 / 62 + 1 / 61 },
    { ...a, score: 1 / 61 },
    { ...c, score: 1 / 62 },
  ]);
});

test("the list of one query stays as it is", () => {
  const list = [{ ...a, score: 0.8 }];
  expect(fuseQueries([list])).toBe(list);
});
