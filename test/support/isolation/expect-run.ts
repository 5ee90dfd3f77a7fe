import { expect } from "vitest";
import type { RunReport } from "./run-operations.ts";

/** What the random operations must have been, each at least once. */
const KINDS = [
  ...["dense", "sparse", "hybrid", "pinned", "own version", "stolen version"].map((what) => `retrieve ${what}`),
  ...["first page", "later page", "stolen cursor", "in a trajectory"].map((what) => `retrieve ${what}`),
  ...["index/add", "index/delete", "add stolen ids", "delete stolen ids", "initialize", "info", "ping", "shutdown"],
  ...["shutdown of a stolen session", "stolen session", "ended session", "corpus of another", "wrong credential"],
  ...["keyed add", "keyed repeat", "catalog/list", "feedback", "x-pgrcp/document"],
  ...["embed", "rerank", "query/transform", "unbuilt method", "cancel of another's call"],
  ...["(in a batch of five)", "(in an own session)", "(with identity members)"],
];

const PAIRS = 6;
/** What a retrieve can be asked, each by every tenant with every other one's at hand. */
const RETRIEVES = ["dense", "sparse", "hybrid"].flatMap((mode) => [`retrieve ${mode}`, `retrieve ${mode} filtered`]);

/** Nothing of another tenant was met by all kinds of operations, of which enough were disturbed. */
export function expectIsolation({ problems, operations, tally }: RunReport, wanted: number): void {
  expect(problems).toEqual([]);
  expect(operations).toBeGreaterThanOrEqual(wanted);
  expect(tally.kinds()).toEqual(expect.arrayContaining(KINDS));
  const trials = tally.trials();
  expect(sumOf([...trials.values()].flat())).toBeGreaterThanOrEqual(wanted);
  for (const shape of RETRIEVES) expect(trials.get(shape)?.filter((count) => count > 0)).toHaveLength(PAIRS);
  expect(tally.total("cut off", "timed out", "cancelled")).toBeGreaterThanOrEqual(0.05 * operations);
}

/** Prints how often there was what, and how it ended. */
export function printRun(title: string, seed: number, { operations, ms, tally }: RunReport): void {
  console.log(
    `${title}: ${operations} operations in ${(ms / 1000).toFixed(1)} s, seed ${seed}\n${tally}\n${trialTable(tally.trials())}`,
  );
}

/** A line for each method, mode and filter, a column for each pair of a caller and another tenant. */
function trialTable(trials: ReadonlyMap<string, readonly number[]>): string {
  const line = (name: string, counts: readonly number[]) =>
    `${name.padEnd(30)}${[...counts, sumOf(counts)].map((count) => String(count).padStart(7)).join("")}`;
  const pairs = Array.from({ length: PAIRS }, (_, pair) =>
    sumOf([...trials.values()].map((counts) => counts[pair] ?? 0)),
  );
  const rows = [...trials].map(([shape, counts]) => line(shape, counts));
  return ["trials by pair of tenants, and their sum", ...rows, line("all", pairs)].join("\n");
}

const sumOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);
