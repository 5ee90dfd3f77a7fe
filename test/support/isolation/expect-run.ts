import { expect } from "vitest";
import type { RunReport } from "./run-operations.ts";

/** What the random operations must have been, each at least once. */
const KINDS = [
  ...["dense", "sparse", "hybrid", "pinned", "own version", "stolen version"].map((what) => `retrieve ${what}`),
  ...["first page", "later page", "stolen cursor", "in a trajectory"].map((what) => `retrieve ${what}`),
  ...["index/add", "index/delete", "add stolen ids", "delete stolen ids", "initialize", "info", "ping", "shutdown"],
  ...["shutdown of a stolen session", "stolen session", "ended session", "corpus of another", "wrong credential"],
  ...["keyed add", "keyed repeat", "catalog/list", "feedback"],
  ...["embed", "rerank", "query/transform", "unbuilt method", "cancel of another's call"],
  ...["(in a batch of five)", "(in an own session)", "(with identity members)"],
];

/** Nothing of another tenant was met by all kinds of operations, of which enough were disturbed. */
export function expectIsolation({ problems, operations, tally }: RunReport, wanted: number): void {
  expect(problems).toEqual([]);
  expect(operations).toBeGreaterThanOrEqual(wanted);
  expect(tally.kinds()).toEqual(expect.arrayContaining(KINDS));
  expect(tally.total("cut off", "timed out", "cancelled")).toBeGreaterThanOrEqual(0.05 * operations);
}

/** Prints how often there was what, and how it ended. */
export function printRun(title: string, seed: number, { operations, ms, tally }: RunReport): void {
  console.log(`${title}: ${operations} operations in ${(ms / 1000).toFixed(1)} s, seed ${seed}\n${tally}`);
}
