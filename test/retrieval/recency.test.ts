import { expect, test } from "vitest";
import type { ScoredCandidate } from "../../src/retrieval/candidate.ts";
import { decayByAge } from "../../src/retrieval/recency.ts";

const DAY = 86_400_000;
const NOW = 1_700_000_000_000;

const scored = (chunkNo: number, docId: string, score: number): ScoredCandidate => ({
  chunkNo,
  docId,
  ordinal: 0,
  print: undefined,
  dense: score,
  sparse: undefined,
  score,
});
const a = scored(1, "a", 1);
const b = scored(2, "b", 0.8);
const c = scored(3, "c", 0.6);

/** Ages in days, by chunk number. */
const decay = (candidates: readonly ScoredCandidate[], ages: Readonly<Record<number, number>>, halfLifeDays = 30) =>
  decayByAge(candidates, {
    dates: new Map(Object.entries(ages).map(([chunkNo, days]) => [Number(chunkNo), NOW - days * DAY])),
    asOf: NOW,
    halfLifeDays,
  }).map(({ docId, score }) => [docId, score]);

test("a score is halved for each half-life of age", () => {
  // 1 · 2^-2, 0.8 · 2^-1, 0.6 · 2^0
  expect(decay([a, b, c], { 1: 60, 2: 30, 3: 0 })).toEqual([
    ["c", 0.6],
    ["b", 0.4],
    ["a", 0.25],
  ]);
});

test("a date in the future is an age of 0", () => {
  expect(decay([a, b], { 1: -400, 2: 0 })).toEqual([
    ["a", 1],
    ["b", 0.8],
  ]);
});

test("a document without a date is as old as the oldest that has one", () => {
  // the oldest is one half-life: 1 · 2^-1 and 0.8 · 2^-1, while c stays
  expect(decay([a, b, c], { 2: 30, 3: 0 })).toEqual([
    ["c", 0.6],
    ["a", 0.5],
    ["b", 0.4],
  ]);
});

test("without any date nothing changes", () => {
  expect(decay([a, b], {})).toEqual([
    ["a", 1],
    ["b", 0.8],
  ]);
});

test("scores below 0 decay towards the lowest one, so an older document never gains", () => {
  // floor -1: -1 + (2 + 1) / 2, -1 + (0 + 1) / 2, -1 + 0 / 2
  expect(decay([scored(1, "a", 2), scored(2, "b", 0), scored(3, "c", -1)], { 1: 30, 2: 30, 3: 30 })).toEqual([
    ["a", 0.5],
    ["b", -0.5],
    ["c", -1],
  ]);
});

test("the oldest date and the shortest half-life give a finite score", () => {
  const oldest = (NOW + 8.64e15) / DAY;
  expect(decay([a, b], { 1: oldest, 2: 0 }, 0.001)).toEqual([
    ["b", 0.8],
    ["a", 0],
  ]);
});

test("what the retrievers said stays", () => {
  const [first] = decayByAge([a], { dates: new Map([[1, NOW - 30 * DAY]]), asOf: NOW, halfLifeDays: 30 });
  expect(first).toEqual({ ...a, score: 0.5 });
});
