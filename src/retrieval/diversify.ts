import type { ScoredCandidate } from "./candidate.ts";
import { pauseEvery } from "./pause.ts";

/**
 * Orders candidates by maximal marginal relevance. The next one is always that with the greatest
 * λ · relevance − (1 − λ) · max cos(it, one already taken), where relevance is its score between the lowest (0) and the highest (1)
 * of all, or 1 when all are alike; cosine is that of the stored vectors. Scores stay: it is the order that says who comes first.
 *
 * Ties go to who stood first, so λ = 1 keeps the order and the first one always stays first. Gives way to other work every few
 * milliseconds.
 *
 * @param candidates best first
 * @param vectors by chunk number; a candidate without one is left out
 * @returns every candidate with a vector, once
 * @throws the signal's reason when it aborts
 * @see Carbonell & Goldstein, The Use of MMR, Diversity-Based Reranking, SIGIR 1998
 */
export async function diversify(
  candidates: readonly ScoredCandidate[],
  vectors: ReadonlyMap<number, Float32Array>,
  lambda: number,
  signal: AbortSignal,
): Promise<ScoredCandidate[]> {
  const pause = pauseEvery(signal);
  const relevance = relevanceOf(candidates);
  const left = candidates.flatMap((candidate, index) => {
    const vector = vectors.get(candidate.chunkNo);
    return vector === undefined
      ? []
      : [{ candidate, vector: toUnit(vector), relevance: relevance[index] ?? 0, nearest: LEAST_COSINE }];
  });
  const taken: ScoredCandidate[] = [];
  while (left.length > 0) {
    const [best] = left.splice(indexOfBest(left, lambda), 1);
    if (best === undefined) break;
    taken.push(best.candidate);
    for (const one of left) one.nearest = Math.max(one.nearest, dot(one.vector, best.vector));
    await pause();
  }
  return taken;
}

/** What nothing taken is as near as. */
const LEAST_COSINE = -1;

interface Contender {
  readonly relevance: number;
  /** The greatest cosine to one that was taken. */
  readonly nearest: number;
}

/** The first of the greatest, so that ties keep the order. */
function indexOfBest(left: readonly Contender[], lambda: number): number {
  let best = 0;
  let greatest = Number.NEGATIVE_INFINITY;
  for (const [index, { relevance, nearest }] of left.entries()) {
    const value = lambda * relevance - (1 - lambda) * nearest;
    if (value > greatest) [best, greatest] = [index, value];
  }
  return best;
}

function relevanceOf(candidates: readonly ScoredCandidate[]): number[] {
  const scores = candidates.map(({ score }) => score);
  const least = scores.reduce((low, score) => Math.min(low, score), Number.POSITIVE_INFINITY);
  const greatest = scores.reduce((high, score) => Math.max(high, score), Number.NEGATIVE_INFINITY);
  return scores.map((score) => (greatest > least ? (score - least) / (greatest - least) : 1));
}

/** Half-precision storage leaves a vector a little off its length. */
function toUnit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(dot(vector, vector));
  return length > 0 ? vector.map((value) => value / length) : vector;
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += (a[index] ?? 0) * (b[index] ?? 0);
  return sum;
}
