import type { Fusion, Weights } from "../plan/retrieval-plan.ts";
import { type Candidate, compareIds, compareScored, type ScoredCandidate } from "./candidate.ts";

/** What hybrid recall found: every candidate once, and who is in which ranked list, best first. */
export interface HybridRecall {
  readonly candidates: ReadonlyMap<number, Candidate>;
  /** Chunk numbers, best first, no chunk twice. */
  readonly dense: readonly number[];
  readonly sparse: readonly number[];
}

/** Lowest value of each scoring function whatever the corpus (RCP §6.1 scoreFloor). */
const COSINE_FLOOR = -1;
const BM25_FLOOR = 0;

/**
 * Fuses the two ranked lists of a hybrid recall.
 *
 * @returns each candidate once, best first; ties by document id in UTF-8 order, then ordinal
 * @see RCP §16.3
 */
export function fuse(recall: HybridRecall, fusion: Fusion): ScoredCandidate[] {
  switch (fusion.method) {
    case "rrf":
      return fuseByReciprocalRank(recall, fusion.rrfK, fusion.weights);
    case "weighted":
      return fuseByMinMax(recall, fusion.weights);
    case "convex":
      return fuseConvex(recall, fusion.alpha);
  }
}

/**
 * score(d) = Σ weight / (rrfK + rank(d)); ranks count from 1 and a chunk gains nothing from a list it is not in. Equal
 * scores go to the larger summed weight, then the smaller id.
 *
 * @see Cormack, Clarke & Büttcher, SIGIR 2009
 */
function fuseByReciprocalRank(recall: HybridRecall, rrfK: number, weights: Weights): ScoredCandidate[] {
  const sums = new Map<number, { score: number; weight: number }>();
  const add = (list: readonly number[], weight: number): void => {
    for (const [index, chunkNo] of list.entries()) {
      const sum = sums.get(chunkNo) ?? { score: 0, weight: 0 };
      sums.set(chunkNo, { score: sum.score + weight / (rrfK + index + 1), weight: sum.weight + weight });
    }
  };
  add(recall.dense, weights.dense);
  add(recall.sparse, weights.sparse);
  return [...recall.candidates.values()]
    .map((candidate) => ({ ...candidate, ...(sums.get(candidate.chunkNo) ?? { score: 0, weight: 0 }) }))
    .sort((a, b) => b.score - a.score || b.weight - a.weight || compareIds(a, b))
    .map(({ weight: _, ...candidate }) => candidate);
}

/** The protocol's damping constant, for lists of one kind. */
const RRF_K = 60;

/**
 * Fuses the ranked lists of several queries by reciprocal rank: score(d) = Σ 1 / (60 + rank(d)). What a retriever says of a chunk
 * is the best that it said of it for any query.
 *
 * @param lists best first, no chunk twice in one; a single list stays as it is
 * @returns each candidate once, best first; ties by document id in UTF-8 order, then ordinal
 * @see RCP §16.3; Cormack, Clarke & Büttcher, SIGIR 2009
 */
export function fuseQueries(lists: readonly (readonly ScoredCandidate[])[]): readonly ScoredCandidate[] {
  const [only, ...others] = lists;
  if (only === undefined || others.length === 0) return only ?? [];
  const fused = new Map<number, ScoredCandidate>();
  for (const list of lists) {
    for (const [index, candidate] of list.entries()) {
      const before = fused.get(candidate.chunkNo);
      fused.set(candidate.chunkNo, {
        ...candidate,
        score: (before?.score ?? 0) + 1 / (RRF_K + index + 1),
        dense: greater(before?.dense, candidate.dense),
        sparse: greater(before?.sparse, candidate.sparse),
      });
    }
  }
  return [...fused.values()].sort(compareScored);
}

const greater = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);

/** Weighted score fusion: each list's scores are mapped to [0, 1] by its own minimum and maximum. */
function fuseByMinMax(recall: HybridRecall, weights: Weights): ScoredCandidate[] {
  const dense = minMax(recall.dense.map((chunkNo) => recall.candidates.get(chunkNo)?.dense ?? 0));
  const sparse = minMax(recall.sparse.map((chunkNo) => recall.candidates.get(chunkNo)?.sparse ?? 0));
  const inDense = new Set(recall.dense);
  const inSparse = new Set(recall.sparse);
  return [...recall.candidates.values()]
    .map((candidate) => ({
      ...candidate,
      score:
        (inDense.has(candidate.chunkNo) ? weights.dense * dense(candidate.dense ?? 0) : 0) +
        (inSparse.has(candidate.chunkNo) ? weights.sparse * sparse(candidate.sparse ?? 0) : 0),
    }))
    .sort(compareScored);
}

/** A list whose scores are all alike says nothing about order: each counts as 1. */
function minMax(scores: readonly number[]): (score: number) => number {
  const min = Math.min(...scores);
  const max = Math.max(...scores);
  return max > min ? (score) => (score - min) / (max - min) : () => 1;
}

/**
 * α · dense + (1 − α) · sparse, each normalised between the scoring function's floor and the best score found. Both scores of
 * every candidate are known, so nobody loses for being cut from the other list.
 *
 * @see Bruch, Gai & Ingber, ACM TOIS 42(1), 2023 (TM2C2)
 */
function fuseConvex(recall: HybridRecall, alpha: number): ScoredCandidate[] {
  const all = [...recall.candidates.values()];
  const dense = fromFloor(
    all.map((one) => one.dense ?? COSINE_FLOOR),
    COSINE_FLOOR,
  );
  const sparse = fromFloor(
    all.map((one) => one.sparse ?? BM25_FLOOR),
    BM25_FLOOR,
  );
  return all
    .map((one) => ({
      ...one,
      score: alpha * dense(one.dense ?? COSINE_FLOOR) + (1 - alpha) * sparse(one.sparse ?? BM25_FLOOR),
    }))
    .sort(compareScored);
}

function fromFloor(scores: readonly number[], floor: number): (score: number) => number {
  const max = scores.reduce((best, score) => Math.max(best, score), floor);
  return max > floor ? (score) => (score - floor) / (max - floor) : () => 0;
}
