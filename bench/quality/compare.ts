import { mean } from "../../src/cli/eval-metrics.ts";
import { SeededRandom } from "../../test/support/seeded-random.ts";

const RESAMPLES = 2_000;
const SEED = 5;

/** One measure of each query, in the collection's order. */
export type QueryScores = readonly number[];

export interface Compared {
  readonly mean: number;
  /** Of every other query, beginning with the first and with the second: what is chosen on one is reported on the other. */
  readonly halves: readonly [number, number];
  /** Mean difference to the baseline on the same queries, and where 95 of 100 resamples of the queries put it. */
  readonly difference: { readonly mean: number; readonly low: number; readonly high: number };
}

export const halvesOf = (scores: QueryScores): readonly [number, number] => [
  mean(scores.filter((_, index) => index % 2 === 0)),
  mean(scores.filter((_, index) => index % 2 === 1)),
];

/** Compares with a baseline by the paired bootstrap. Repeatable: its seed is fixed. */
export function compare(scores: QueryScores, baseline: QueryScores): Compared {
  const differences = scores.map((score, index) => score - (baseline[index] ?? 0));
  const random = new SeededRandom(SEED);
  const means = Array.from({ length: RESAMPLES }, () => mean(differences.map(() => random.pick(differences)))).sort(
    (a, b) => a - b,
  );
  return {
    mean: mean(scores),
    halves: halvesOf(scores),
    difference: {
      mean: mean(differences),
      low: means[Math.floor(RESAMPLES * 0.025)] ?? 0,
      high: means[Math.ceil(RESAMPLES * 0.975) - 1] ?? 0,
    },
  };
}
