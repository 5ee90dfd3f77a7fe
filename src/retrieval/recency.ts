import { compareScored, type ScoredCandidate } from "./candidate.ts";

const DAY_MS = 86_400_000;

export interface Ages {
  /** The date of each chunk's document in epoch milliseconds; none for a document without one. */
  readonly dates: ReadonlyMap<number, number>;
  /** When the version that is read was committed, in epoch milliseconds: what ages count from, so that a version's answer stays. */
  readonly asOf: number;
  readonly halfLifeDays: number;
}

/**
 * Lets scores decay with age: score' = floor + (score − floor) · 2^(−age / halfLife), where floor is 0, or the lowest score when
 * that is below 0. So a decayed score is never above its own, a newer document never loses to an equal older one, and at one age
 * the order stays.
 *
 * A date after `asOf` is an age of 0. A document without a date is as old as the oldest candidate that has one: it can neither
 * prove to be newer, nor does it lose its place among its like. When no candidate has a date, nothing changes.
 *
 * @returns every candidate, best first; ties by document id in UTF-8 order, then ordinal
 * @see Li & Croft, Time-Based Language Models, CIKM 2003: an exponential prior on a document's date
 */
export function decayByAge(candidates: readonly ScoredCandidate[], ages: Ages): ScoredCandidate[] {
  const weights = candidates.map(({ chunkNo }) => weightOf(ages.dates.get(chunkNo), ages));
  const known = weights.filter((weight) => weight !== undefined);
  const oldest = known.reduce((least, weight) => Math.min(least, weight), 1);
  const floor = candidates.reduce((least, { score }) => Math.min(least, score), 0);
  return candidates
    .map((one, index) => ({ ...one, score: floor + (one.score - floor) * (weights[index] ?? oldest) }))
    .sort(compareScored);
}

function weightOf(date: number | undefined, { asOf, halfLifeDays }: Ages): number | undefined {
  if (date === undefined) return undefined;
  return 2 ** (-Math.max(0, asOf - date) / (halfLifeDays * DAY_MS));
}
