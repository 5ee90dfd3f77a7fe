import { describe, expect, test } from "vitest";
import type { ScoredCandidate } from "../../src/retrieval/candidate.ts";
import { diversify } from "../../src/retrieval/diversify.ts";

const never = new AbortController().signal;

const scored = (chunkNo: number, score: number): ScoredCandidate => ({
  chunkNo,
  docId: `d${chunkNo}`,
  ordinal: 0,
  print: undefined,
  dense: score,
  sparse: undefined,
  score,
});
const vectors = (all: Readonly<Record<number, readonly number[]>>) =>
  new Map(Object.entries(all).map(([chunkNo, vector]) => [Number(chunkNo), Float32Array.from(vector)]));
const order = async (candidates: readonly ScoredCandidate[], of: ReturnType<typeof vectors>, lambda: number) =>
  (await diversify(candidates, of, lambda, never)).map(({ chunkNo }) => chunkNo);

/** 1 and 2 say the same, 3 something else. Relevance: 1, (0.9 - 0.5) / 0.5 = 0.8, 0. */
const three = [scored(1, 1), scored(2, 0.9), scored(3, 0.5)];
const twins = vectors({ 1: [1, 0], 2: [1, 0], 3: [0, 1] });

describe("mmr", () => {
  test("puts what is new before what was said already, when novelty weighs enough", async () => {
    // after 1: 2 is worth 0.5 · 0.8 - 0.5 · 1 = -0.1, 3 is worth 0
    expect(await order(three, twins, 0.5)).toEqual([1, 3, 2]);
  });

  test("keeps the order while relevance outweighs", async () => {
    // after 1: 2 is worth 0.6 · 0.8 - 0.4 · 1 = 0.08, 3 is worth 0
    expect(await order(three, twins, 0.6)).toEqual([1, 2, 3]);
  });

  test("λ = 1 keeps the order, λ = 0 asks for distance alone", async () => {
    expect(await order(three, twins, 1)).toEqual([1, 2, 3]);
    expect(await order(three, twins, 0)).toEqual([1, 3, 2]);
  });

  test("looks at the nearest of all that were taken, not at the last one", async () => {
    // λ = 0: after 1 comes its opposite 2; then 3 lies on 1 (nearest 1) and 4 square to both (nearest 0)
    const four = [scored(1, 1), scored(2, 0.9), scored(3, 0.8), scored(4, 0.7)];
    expect(await order(four, vectors({ 1: [1, 0], 2: [-1, 0], 3: [1, 0], 4: [0, 1] }), 0)).toEqual([1, 2, 4, 3]);
  });

  test("measures the angle, whatever the vectors' lengths", async () => {
    expect(await order(three, vectors({ 1: [2, 0], 2: [0.01, 0], 3: [0, 5] }), 0.5)).toEqual([1, 3, 2]);
  });

  test("ties go to who stood first", async () => {
    const alike = [scored(1, 1), scored(2, 1), scored(3, 1)];
    expect(await order(alike, vectors({ 1: [1, 0], 2: [0, 1], 3: [0, -1] }), 0.5)).toEqual([1, 2, 3]);
  });

  test("moves candidates and changes none", async () => {
    expect(await diversify(three, twins, 0.5, never)).toEqual([three[0], three[2], three[1]]);
  });

  test("a candidate whose vector is gone is left out, and nothing of nothing is nothing", async () => {
    expect(await order(three, vectors({ 1: [1, 0], 3: [0, 1] }), 0.5)).toEqual([1, 3]);
    expect(await order([], twins, 0.5)).toEqual([]);
  });

  test("stops when it is told to", async () => {
    const stopped = AbortSignal.abort(new Error("stopped"));
    await expect(diversify(three, twins, 0.5, stopped)).rejects.toThrow("stopped");
  });
});
