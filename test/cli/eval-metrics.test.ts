import { describe, expect, test } from "vitest";
import { documentsOf } from "../../src/cli/eval.ts";
import { mean, ndcgAt, percentile, recallAt, reciprocalRankAt, relevantCount } from "../../src/cli/eval-metrics.ts";

const judged = (grades: Record<string, number>) => new Map(Object.entries(grades));

describe("nDCG", () => {
  test("the best order scores 1", () => {
    expect(ndcgAt(10, ["a", "b", "c"], judged({ a: 3, b: 2, c: 1 }))).toBe(1);
  });

  test("graded documents in the wrong order: (1/1 + 3/log2 3 + 2/2) / (3/1 + 2/log2 3 + 1/2)", () => {
    // log2 3 = 1.5849625; 1 + 1.8927893 + 1 = 3.8927893; 3 + 1.2618595 + 0.5 = 4.7618595
    expect(ndcgAt(10, ["c", "a", "b"], judged({ a: 3, b: 2, c: 1 }))).toBeCloseTo(3.8927893 / 4.7618595, 6);
  });

  test("one relevant document in third place scores 1 / log2 4", () => {
    expect(ndcgAt(10, ["x", "y", "a"], judged({ a: 1 }))).toBe(0.5);
  });

  test("what stands below the cut counts neither in the answer nor in the ideal", () => {
    // the ideal of the first two is 1 + 1/log2 3 = 1.6309298; found is the first alone
    expect(ndcgAt(2, ["a", "x", "b", "c"], judged({ a: 1, b: 1, c: 1 }))).toBeCloseTo(1 / 1.6309298, 6);
  });

  test("nothing relevant scores 0, and a negative grade is not relevant", () => {
    expect(ndcgAt(10, ["a"], judged({ a: 0, b: -1 }))).toBe(0);
    expect(ndcgAt(10, ["b", "a"], judged({ a: 1, b: -1 }))).toBeCloseTo(0.6309298, 6);
  });
});

test("recall is the share of the relevant documents above the cut", () => {
  const judgements = judged({ a: 1, b: 2, c: 1, d: 0 });

  expect(recallAt(50, ["a", "x", "b", "d"], judgements)).toBeCloseTo(2 / 3, 12);
  expect(recallAt(2, ["a", "x", "b"], judgements)).toBeCloseTo(1 / 3, 12);
  expect(recallAt(50, ["a"], judged({ a: 0 }))).toBe(0);
});

test("the reciprocal rank is that of the first relevant document, or 0 beyond the cut", () => {
  expect(reciprocalRankAt(10, ["x", "y", "a", "b"], judged({ a: 1, b: 1 }))).toBeCloseTo(1 / 3, 12);
  expect(reciprocalRankAt(2, ["x", "y", "a"], judged({ a: 1 }))).toBe(0);
});

test("a document stands once, at its best chunk's place", () => {
  const chunk = (docId: string, index: number) => ({ chunk: { docId, index } });

  expect(documentsOf([chunk("b", 4), chunk("a", 0), chunk("b", 0), chunk("c", 1), chunk("a", 2)])).toEqual([
    "b",
    "a",
    "c",
  ]);
});

test("the median is the lower of the two in the middle, the 95th of 20 is the 19th", () => {
  expect(percentile([4, 1, 3, 2], 0.5)).toBe(2);
  expect(percentile([5, 1, 9], 0.5)).toBe(5);
  expect(
    percentile(
      Array.from({ length: 20 }, (_, i) => i + 1),
      0.95,
    ),
  ).toBe(19);
  expect(percentile([], 0.5)).toBeNaN();
});

test("mean and the count of relevant documents", () => {
  expect(mean([1, 2, 6])).toBe(3);
  expect(mean([])).toBe(0);
  expect(relevantCount(judged({ a: 1, b: 0, c: 2, d: -1 }))).toBe(2);
});
