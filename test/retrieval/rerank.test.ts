import { expect, test } from "vitest";
import type { Reranker } from "../../src/models/reranker.ts";
import type { ScoredCandidate } from "../../src/retrieval/candidate.ts";
import { rerank } from "../../src/retrieval/rerank.ts";

const never = new AbortController().signal;

const scored = (chunkNo: number, docId: string, score: number): ScoredCandidate => ({
  chunkNo,
  docId,
  ordinal: 0,
  print: undefined,
  dense: score,
  sparse: 2,
  score,
});
const a = scored(1, "a", 0.9);
const b = scored(2, "b", 0.8);
const c = scored(3, "c", 0.7);
const passages = new Map([
  [1, "one"],
  [2, "two"],
  [3, "three"],
]);

/** Scores each passage by a table, and notes what it was asked. */
function rerankerOf(scores: Readonly<Record<string, number>>) {
  const calls: (readonly [string, readonly string[]])[] = [];
  const reranker: Reranker = {
    identity: "table",
    method: "cross-encoder",
    maxCandidates: 100,
    async score(query, texts) {
      calls.push([query, texts]);
      return texts.map((text) => scores[text] ?? 0);
    },
    async close() {},
  };
  return { reranker, calls };
}

test("the reranker's score takes the place of the one before, and orders", async () => {
  const { reranker, calls } = rerankerOf({ one: -1.5, two: 3, three: 0.25 });

  const reranked = await rerank([a, b, c], passages, "which?", reranker, never);

  expect(reranked).toEqual([
    { ...b, score: 3, rerank: 3 },
    { ...c, score: 0.25, rerank: 0.25 },
    { ...a, score: -1.5, rerank: -1.5 },
  ]);
  expect(calls).toEqual([["which?", ["one", "two", "three"]]]);
});

test("ties go by document id", async () => {
  const { reranker } = rerankerOf({ one: 1, two: 1, three: 1 });
  const reranked = await rerank([c, b, a], passages, "q", reranker, never);
  expect(reranked.map(({ docId }) => docId)).toEqual(["a", "b", "c"]);
});

test("a candidate whose passage is gone is left out; without any the reranker is not asked", async () => {
  const { reranker, calls } = rerankerOf({ two: 1 });
  expect(await rerank([a, b], new Map([[2, "two"]]), "q", reranker, never)).toEqual([{ ...b, score: 1, rerank: 1 }]);
  expect(await rerank([a], new Map(), "q", reranker, never)).toEqual([]);
  expect(calls).toHaveLength(1);
});
