import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ChunkLimits, chunkText, type TextChunk } from "../../src/indexing/chunk-text.ts";

/** Two special tokens, then one for each word and each sign between words. */
const perWord = (text: string): number => 2 + (text.match(/[\p{L}\p{N}\p{M}]+|[^\p{L}\p{N}\p{M}\s]/gu)?.length ?? 0);
/** Two special tokens, then one for each code point that is not white space. */
const perCharacter = (text: string): number => 2 + [...text].filter((c) => c.trim() !== "").length;

const limits = (count: (text: string) => number, maxTokens: number, overlapTokens = 0): ChunkLimits => ({
  maxTokens,
  overlapTokens,
  countTokens: async (texts) => texts.map(count),
});

const texts = (chunks: readonly TextChunk[]): string[] => chunks.map((chunk) => chunk.text);

test("a text that fits is one chunk, as it is", async () => {
  const text = " One two.\r\nThree four. ";
  // 4 words, 2 full stops, 2 special tokens.
  expect(await chunkText(text, limits(perWord, 8))).toEqual([{ text, start: 0, end: 23 }]);
  expect(await chunkText(text, limits(perWord, Number.POSITIVE_INFINITY))).toEqual([{ text, start: 0, end: 23 }]);
});

test.each(["", " ", "\n\n\t\n", "\u00a0\ufeff".repeat(500)])(
  "a text without characters is one chunk of all of it",
  async (text) => {
    expect(await chunkText(text, limits(perWord, 3))).toEqual([{ text, start: 0, end: text.length }]);
  },
);

test("a longer text is cut between sentences, with no white space around chunks", async () => {
  const text = "\n One two. Three four five.\r\n\r\n Six. Seven eight nine ten. ";
  expect(await chunkText(text, limits(perWord, 9))).toEqual([
    { text: "One two. Three four five.", start: 2, end: 27 },
    { text: "Six. Seven eight nine ten.", start: 32, end: 58 },
  ]);
});

test("a chunk repeats whole sentences of the one before, as far as the overlap goes", async () => {
  const text = "A b c. D e. F. G h i. J.";
  // Tokens of the sentences: 4, 3, 2, 4, 2.
  expect(texts(await chunkText(text, limits(perWord, 12, 0)))).toEqual(["A b c. D e. F.", "G h i. J."]);
  expect(texts(await chunkText(text, limits(perWord, 12, 4)))).toEqual(["A b c. D e. F.", "F. G h i. J."]);
  expect(texts(await chunkText(text, limits(perWord, 12, 5)))).toEqual([
    "A b c. D e. F.",
    "D e. F. G h i.",
    "G h i. J.",
  ]);
});

test("an overlap that leaves no room for the next sentence is given up", async () => {
  // Tokens 3, 3, 6 with room for 6: the second sentence would fit the overlap, but not beside the third.
  expect(texts(await chunkText("A b. C d. E f g h i.", limits(perWord, 8, 3)))).toEqual(["A b. C d.", "E f g h i."]);
});

test("an over-long sentence is cut between words and not repeated", async () => {
  const words = Array.from({ length: 40 }, (_, index) => `word${index}`);
  const chunks = await chunkText(`Short one. ${words.join(" ")}. Last one.`, limits(perWord, 12, 5));

  expect(chunks.length).toBeGreaterThanOrEqual(5);
  expect(texts(chunks).join(" ").match(/\w+/g)).toEqual(["Short", "one", ...words, "Last", "one"]);
  for (const { text } of chunks) expect(perWord(text)).toBeLessThanOrEqual(12);
});

test("Chinese without spaces is cut between words", async () => {
  const chunks = await chunkText("我们喜欢北京".repeat(30), limits(perCharacter, 22));

  expect(texts(chunks).join("")).toBe("我们喜欢北京".repeat(30));
  for (const { text } of chunks) expect(text).toMatch(/^(我们|喜欢|北京)+$/);
});

test("an over-long word is cut between characters as a reader sees them", async () => {
  const chunks = await chunkText(`${"e\u0301".repeat(100)} ${"👩‍👩‍👧".repeat(20)}`, limits(perCharacter, 13));

  for (const { text } of chunks) {
    expect(text).toMatch(/^((e\u0301)+|(👩‍👩‍👧)+)$/u);
    expect(perCharacter(text)).toBeLessThanOrEqual(13);
  }
  expect(texts(chunks).join("")).toBe("e\u0301".repeat(100) + "👩‍👩‍👧".repeat(20));
});

test("a character that is too long itself is cut between code points, and one code point is never cut", async () => {
  const stacked = `a${"\u0301".repeat(50)}`;
  const chunks = await chunkText(stacked, limits(perCharacter, 12));
  expect(texts(chunks).join("")).toBe(stacked);
  for (const { text } of chunks) expect(perCharacter(text)).toBeLessThanOrEqual(12);

  const heavy = (text: string): number => 2 + 5 * [...text.trim()].length;
  expect(texts(await chunkText("𝒳 𝒴𝒵", limits(heavy, 4)))).toEqual(["𝒳", "𝒴", "𝒵"]);
});

test("offsets count code points", async () => {
  const text = "𝒳𝒴. Ok 👍🏽. E\u0301nd.";
  expect(await chunkText(text, limits(perCharacter, 8))).toEqual([
    { text: "𝒳𝒴.", start: 0, end: 3 },
    { text: "Ok 👍🏽.", start: 4, end: 10 },
    { text: "E\u0301nd.", start: 11, end: 16 },
  ]);
});

test("a limit below the special tokens is refused", async () => {
  await expect(chunkText("one two three", limits(perWord, 2))).rejects.toThrow("room for at least one token");
});

test("tokens are counted in few calls, however long the text", async () => {
  let calls = 0;
  const counted: ChunkLimits = {
    maxTokens: 30,
    overlapTokens: 5,
    countTokens: async (batch) => {
      calls++;
      return batch.map(perWord);
    },
  };
  await chunkText("One two three. ".repeat(2_000), counted);
  expect(calls).toBe(1);
  calls = 0;
  await chunkText("word ".repeat(20_000), counted);
  expect(calls).toBeLessThanOrEqual(4);
});

describe("any text", () => {
  const telling = fc.string({
    unit: fc.constantFrom(
      ..."aB1.!? \n\r\t,'é汉ไ\u0301\u200d\u00a0\ufeff",
      "\r\n",
      "𝒳",
      "👩‍👧",
      "🇩🇪",
      "Word ",
      "end. ",
    ),
    maxLength: 120,
  });

  test("each chunk is the slice its offsets name, fits, and nothing but white space is left out", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          telling,
          fc.string({ unit: "binary", maxLength: 60 }).map((s) => s.toWellFormed()),
        ),
        fc.constantFrom(perWord, perCharacter),
        fc.integer({ min: 3, max: 20 }),
        fc.nat(10),
        async (text, count, maxTokens, overlap) => {
          const chunks = await chunkText(text, limits(count, maxTokens, overlap));
          const points = [...text];
          const covered = new Set<number>();
          for (const { text: part, start, end } of chunks) {
            expect(points.slice(start, end).join("")).toBe(part);
            if (chunks.length > 1) expect(part).toBe(part.trim());
            expect(count(part)).toBeLessThanOrEqual(maxTokens);
            for (let at = start; at < end; at++) covered.add(at);
          }
          expect(chunks.length).toBeGreaterThan(0);
          for (const [index, point] of points.entries()) if (point.trim() !== "") expect(covered.has(index)).toBe(true);
          for (const [index, { start, end }] of chunks.entries()) {
            const before = chunks[index - 1];
            if (before === undefined) continue;
            expect(start).toBeGreaterThan(before.start);
            expect(end).toBeGreaterThan(before.end);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe("a megabyte", () => {
  /** Cheap, so that the time below is that of cutting. */
  const perUnit = (text: string): number => 2 + text.length;

  test.each([
    ["of sentences", "The quick brown fox jumps over the lazy dog. ", perWord],
    ["in one line without a stop", "quick brown fox ", perWord],
    ["of lines", "word\n", perWord],
    ["of one word", "x", perUnit],
    ["of Chinese without spaces", "我们喜欢北京", perUnit],
    ["of Thai", "ภาษาไทย", perUnit],
    ["of combining marks", "\u0301", perUnit],
    ["of astral characters", "𝒳", perUnit],
    ["of joined emoji", "👩\u200d", perUnit],
  ])("%s is cut in less than two seconds", async (_, unit, count) => {
    const text = unit.repeat(Math.ceil(1_000_000 / unit.length));
    // Processor time: others may be at work on the machine.
    const before = process.cpuUsage();
    const chunks = await chunkText(text, limits(count, 256, 32));
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(2_000);
    expect(chunks.length).toBeGreaterThan(300);
    expect(chunks.filter((chunk) => count(chunk.text) > 256)).toEqual([]);
  });

  test("of line breaks between two words is two words", async () => {
    const text = `start${"\n".repeat(1_000_000)}end`;
    expect(await chunkText(text, limits(perWord, 3))).toEqual([
      { text: "start", start: 0, end: 5 },
      { text: "end", start: 1_000_005, end: 1_000_008 },
    ]);
  });
});
