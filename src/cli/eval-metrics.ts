/** Ranking measures over graded judgements, each for one query (RCP appendix F). */

/** Relevance by document id. What is not judged, or judged 0 or below, is not relevant. */
export type Judgements = ReadonlyMap<string, number>;

/**
 * nDCG@k with linear gains: Σ grade / log2(rank + 1) over the first k documents, divided by the same sum of the best order.
 * This is what trec_eval and BEIR compute.
 *
 * @param ranked document ids, best first, no id twice
 * @returns 0 to 1; 0 when nothing is relevant
 * @see Järvelin & Kekäläinen, TOIS 2002
 */
export function ndcgAt(k: number, ranked: readonly string[], judgements: Judgements): number {
  const gain = (grades: readonly number[]) =>
    grades.slice(0, k).reduce((sum, grade, index) => sum + Math.max(0, grade) / Math.log2(index + 2), 0);
  const best = gain([...judgements.values()].sort((a, b) => b - a));
  return best === 0 ? 0 : gain(ranked.map((id) => judgements.get(id) ?? 0)) / best;
}

/** The share of the relevant documents that are among the first k. */
export function recallAt(k: number, ranked: readonly string[], judgements: Judgements): number {
  const relevant = relevantCount(judgements);
  const found = ranked.slice(0, k).filter((id) => (judgements.get(id) ?? 0) > 0).length;
  return relevant === 0 ? 0 : found / relevant;
}

/** 1 / rank of the first relevant document among the first k; 0 when there is none. */
export function reciprocalRankAt(k: number, ranked: readonly string[], judgements: Judgements): number {
  const index = ranked.slice(0, k).findIndex((id) => (judgements.get(id) ?? 0) > 0);
  return index === -1 ? 0 : 1 / (index + 1);
}

export const relevantCount = (judgements: Judgements): number =>
  [...judgements.values()].filter((grade) => grade > 0).length;

/** The smallest value that at least `share` of the values do not exceed. NaN for none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
