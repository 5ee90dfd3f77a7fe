import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { packPostings, type TermBlock } from "../../src/catalog/posting-block.ts";
import { countTerms } from "../../src/catalog/tokenize.ts";
import { type Bm25Query, type Bm25Result, scoreBm25 } from "../../src/retrieval/bm25.ts";
import { MAX_TIES } from "../../src/retrieval/top-scores.ts";
import { chunkSet, termBlocks } from "../support/bm25-input.ts";
import { watchEventLoop } from "../support/watch-event-loop.ts";

interface Chunk {
  readonly chunkNo: number;
  readonly terms: readonly string[];
}

const blocksOf = (chunks: readonly Chunk[]): TermBlock[] =>
  termBlocks(
    packPostings(chunks.map(({ chunkNo, terms }) => ({ chunkNo, length: terms.length, counts: countTerms(terms) }))),
  );

const chunk = (chunkNo: number, text: string): Chunk => ({ chunkNo, terms: text.split(" ") });

type Options = Partial<Pick<Bm25Query, "nextChunk" | "allowed" | "limit" | "scoresOf" | "signal">> & {
  readonly closed?: readonly number[];
};

/** Scores a query against chunks with the statistics of those that are visible. */
function score(chunks: readonly Chunk[], query: string, options: Options = {}): Promise<Bm25Result> {
  const { closed = [], nextChunk = 1 << 30, ...rest } = options;
  const visible = chunks.filter((one) => one.chunkNo < nextChunk && !closed.includes(one.chunkNo));
  return scoreBm25({
    terms: countTerms(query.split(" ")),
    blocks: blocksOf(chunks),
    liveChunks: visible.length,
    averageLength: visible.reduce((sum, one) => sum + one.terms.length, 0) / visible.length,
    nextChunk,
    closed: chunkSet(closed),
    limit: 10,
    signal: new AbortController().signal,
    ...rest,
  });
}

const ranking = ({ chunkNos }: Bm25Result): number[] => [...chunkNos];

test("a score is the textbook's", async () => {
  // N 3, lengths 2, 4, 3, mean 3. blood: df 2, idf ln(1 + 1.5/2.5). cell: df 1, idf ln(1 + 2.5/1.5).
  const chunks = [chunk(0, "blood cell"), chunk(1, "blood blood of bone"), chunk(2, "a b c")];

  const result = await score(chunks, "blood cell");

  const blood = Math.log(1.6);
  const cell = Math.log(1 + 2.5 / 1.5);
  // 1.2 · (0.25 + 0.75 · 2/3) = 0.9 and 1.2 · (0.25 + 0.75 · 4/3) = 1.5.
  expect(ranking(result)).toEqual([0, 1]);
  expect(result.scores[0]).toBeCloseTo((blood * 2.2) / 1.9 + (cell * 2.2) / 1.9, 12);
  expect(result.scores[1]).toBeCloseTo((blood * 2 * 2.2) / 3.5, 12);
});

test("a term that the query says twice counts twice", async () => {
  const chunks = [chunk(0, "x a"), chunk(1, "y b"), chunk(2, "c d")];

  const once = await score(chunks, "x y");
  const twice = await score(chunks, "x y y");

  expect(ranking(twice)).toEqual([1, 0]);
  expect(twice.scores[0]).toBeCloseTo(2 * (once.scores[0] ?? 0), 12);
});

test("a term in every chunk still scores above 0, and a term in none changes nothing", async () => {
  const result = await score([chunk(0, "x"), chunk(1, "x")], "x absent");

  expect(ranking(result)).toEqual([0, 1]);
  expect(result.scores[0]).toBeCloseTo(Math.log(1 + 0.5 / 2.5), 12);
});

test("closed and later chunks are neither ranked nor counted", async () => {
  const live = [chunk(1, "x a"), chunk(2, "b c")];
  const all = [chunk(0, "x a"), ...live, chunk(3, "x x"), chunk(5000, "x")];

  const result = await score(all, "x", { closed: [0], nextChunk: 3 });

  expect(result).toEqual(await score(live, "x"));
  expect(ranking(result)).toEqual([1]);
});

test("a filter hides chunks and leaves the others' scores as they are", async () => {
  const chunks = [chunk(0, "x a"), chunk(1, "x b"), chunk(2, "c d"), chunk(9000, "x")];

  const result = await score(chunks, "x", { allowed: chunkSet([1, 2]) });

  expect(ranking(result)).toEqual([1]);
  expect(result.scores[0]).toBe((await score(chunks, "x")).scores[1]);
  expect(ranking(await score(chunks, "x", { allowed: chunkSet([]) }))).toEqual([]);
});

test("the limit cuts the list, but not between equal scores", async () => {
  const chunks = [chunk(0, "x a"), chunk(1, "x x"), chunk(2, "x b"), chunk(3, "x c d e")];

  expect(ranking(await score(chunks, "x", { limit: 1 }))).toEqual([1]);
  expect(ranking(await score(chunks, "x", { limit: 2 }))).toEqual([1, 0, 2]);
});

test("of very many equal scores the lowest numbers are kept", async () => {
  const chunks = Array.from({ length: 20_000 }, (_, index) => chunk(index, index === 15_000 ? "x x" : "x y"));

  const result = await score(chunks, "x", { limit: 3 });

  const ties = Array.from({ length: MAX_TIES + 2 }, (_, index) => index);
  expect(ranking(result)).toEqual([15_000, ...ties]);
});

test("asked scores come whatever their rank, and are 0 without a term of the query", async () => {
  const chunks = [chunk(0, "x x"), chunk(1, "x y"), chunk(4096, "x z"), chunk(4097, "a b")];

  const result = await score(chunks, "x", { limit: 1, scoresOf: [4097, 4096, 1, 1, 70_000] });

  const all = await score(chunks, "x");
  expect(ranking(all)).toEqual([0, 1, 4096]);
  expect([...result.asked]).toEqual([0, all.scores[2], all.scores[1], all.scores[1], 0]);
});

test("nothing is found with no terms, no blocks or no chunks", async () => {
  expect(ranking(await score([], "x"))).toEqual([]);
  expect(ranking(await score([chunk(0, "a")], "x"))).toEqual([]);
});

describe("against a plain reading of the documents", () => {
  const vocabulary = ["a", "b", "c", "d", "e"];
  const corpora = fc.uniqueArray(
    fc.record({
      chunkNo: fc.oneof(fc.nat(60), fc.integer({ min: 4080, max: 4110 }), fc.nat(20_000)),
      // Long enough, now and then, for a frequency over 254 and a length over 4094.
      terms: fc.oneof(
        { weight: 12, arbitrary: fc.array(fc.constantFrom(...vocabulary, "other"), { minLength: 1, maxLength: 12 }) },
        { weight: 1, arbitrary: fc.integer({ min: 250, max: 300 }).map((n) => Array<string>(n).fill("a")) },
        {
          weight: 1,
          arbitrary: fc.integer({ min: 4090, max: 4100 }).map((n) => ["b", ...Array<string>(n - 1).fill("z")]),
        },
      ),
      state: fc.constantFrom("live", "live", "live", "closed"),
      allowed: fc.boolean(),
    }),
    { selector: (one) => one.chunkNo, maxLength: 40 },
  );

  test("scores differ by no more than 1e-9 and the order is the same", async () => {
    await fc.assert(
      fc.asyncProperty(
        corpora,
        fc.array(fc.constantFrom(...vocabulary, "absent"), { minLength: 1, maxLength: 6 }),
        fc.option(fc.nat(20_000), { nil: undefined }),
        fc.boolean(),
        fc.integer({ min: 1, max: 12 }),
        async (sample, query, nextChunk = 1 << 30, filtered, limit) => {
          const chunks = sample.toSorted((a, b) => a.chunkNo - b.chunkNo);
          const visible = chunks.filter((one) => one.state === "live" && one.chunkNo < nextChunk);
          const mean = visible.reduce((sum, one) => sum + one.terms.length, 0) / visible.length;
          const expected = visible
            .filter((one) => !filtered || one.allowed)
            .map((one) => {
              let sum = 0;
              for (const term of query) {
                const df = visible.filter((other) => other.terms.includes(term)).length;
                const tf = one.terms.filter((other) => other === term).length;
                const idf = Math.log(1 + (visible.length - df + 0.5) / (df + 0.5));
                sum += (idf * tf * 2.2) / (tf + 1.2 * (0.25 + (0.75 * one.terms.length) / mean));
              }
              return { chunkNo: one.chunkNo, score: sum };
            })
            .filter((one) => one.score > 0)
            .sort((a, b) => b.score - a.score || a.chunkNo - b.chunkNo);
          const last = expected[limit - 1]?.score ?? 0;

          const result = await score(chunks, query.join(" "), {
            closed: chunks.filter((one) => one.state === "closed").map((one) => one.chunkNo),
            nextChunk,
            limit,
            scoresOf: chunks.map((one) => one.chunkNo),
            ...(filtered && { allowed: chunkSet(chunks.filter((one) => one.allowed).map((one) => one.chunkNo)) }),
          });

          const found = new Map(ranking(result).map((chunkNo, index) => [chunkNo, result.scores[index] ?? 0]));
          for (const one of expected) {
            if (one.score > last + 1e-9) expect(found.has(one.chunkNo)).toBe(true);
            const given = found.get(one.chunkNo);
            if (given !== undefined) expect(Math.abs(given - one.score)).toBeLessThanOrEqual(1e-9);
          }
          expect(found.size).toBeGreaterThanOrEqual(Math.min(limit, expected.length));
          for (const [index, chunkNo] of ranking(result).entries()) {
            const own = expected.find((one) => one.chunkNo === chunkNo);
            expect(own).toBeDefined();
            expect(own?.score).toBeGreaterThanOrEqual(last - 1e-9);
            if (index > 0) expect(result.scores[index]).toBeLessThanOrEqual(result.scores[index - 1] ?? 0);
          }
          for (const [index, one] of chunks.entries()) {
            const plain = expected.find((other) => other.chunkNo === one.chunkNo)?.score ?? 0;
            expect(Math.abs((result.asked[index] ?? Number.NaN) - plain)).toBeLessThanOrEqual(1e-9);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("two million postings", () => {
  const length = (chunkNo: number) => 60 + ((chunkNo * 7919) % 300);
  const blocks = termBlocks(
    packPostings(
      Array.from({ length: 1_000_000 }, (_, chunkNo) => ({
        chunkNo,
        length: length(chunkNo),
        counts: new Map([
          ["x", 1 + (chunkNo % 7)],
          ["y", 1],
        ]),
      })),
    ),
  );
  const query = (signal: AbortSignal): Bm25Query => ({
    terms: countTerms(["x", "y"]),
    blocks,
    liveChunks: 1_000_000,
    averageLength: 209.5,
    nextChunk: 1_000_000,
    closed: chunkSet([999_999]),
    limit: 100,
    signal,
  });

  test("scoring never holds the event loop for more than 10 ms", async () => {
    const longest = async () => {
      const held = watchEventLoop();
      await scoreBm25(query(new AbortController().signal));
      return held();
    };
    // What the code holds is held every time; what the machine or a collection of garbage adds is not.
    const runs = [await longest(), await longest(), await longest()];
    expect(Math.min(...runs)).toBeLessThanOrEqual(10);
  });

  test("scoring stops with the signal's reason", async () => {
    const controller = new AbortController();
    const scored = scoreBm25(query(controller.signal));
    controller.abort(new Error("deadline"));
    await expect(scored).rejects.toThrow("deadline");
    await expect(scoreBm25(query(controller.signal))).rejects.toThrow("deadline");
  });
});
