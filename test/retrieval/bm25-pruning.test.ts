import { expect, test } from "vitest";
import { BLOCK_SIZE, blockOf, packPostings } from "../../src/catalog/posting-block.ts";
import { scoreBm25 } from "../../src/retrieval/bm25.ts";
import { chunkSet, termBlocks } from "../support/bm25-input.ts";
import { fullBm25 } from "../support/full-bm25.ts";
import { SeededRandom, testSeed } from "../support/seeded-random.ts";
import { chunksOfBlock, wordsIn } from "../support/zipf-corpus.ts";

/** What is passed over changes nothing: the same chunks with the same scores as when every posting is scored. */

const CHUNKS = BLOCK_SIZE + 2_000;
const QUERIES = 500;

const chunks = [...chunksOfBlock(0, BLOCK_SIZE), ...chunksOfBlock(BLOCK_SIZE, CHUNKS - BLOCK_SIZE)];
// Lengths and frequencies that do not fit into a packed posting, and one text many times: equal scores.
const odd = (chunkNo: number) => {
  if (chunkNo % 97 === 0) return { length: 5_000 + chunkNo, counts: new Map([[wordsIn(0.3, 1)[0] ?? "", 300]]) };
  if (chunkNo % 11 === 0) return { length: 3, counts: new Map(wordsIn(0.01, 3).map((word) => [word, 1])) };
  return undefined;
};
const corpus = chunks.map((chunk) => ({ ...chunk, ...odd(chunk.chunkNo) }));
const blocks = packPostings(corpus);
const PARTS = [0.9, 0.3, 0.3, 0.05, 0.01, 0.001, 0.0002];

test(`${QUERIES} random queries with filters, pins and closed chunks are answered as by full evaluation, to the last bit`, async () => {
  const seed = testSeed();
  const random = new SeededRandom(seed);
  const some = (part: number) => corpus.map(({ chunkNo }) => chunkNo).filter(() => random.fraction() < part);
  for (let query = 0; query < QUERIES; query++) {
    const terms = new Map(
      Array.from({ length: random.integer(1, 5) }, () => [
        random.pick(wordsIn(random.pick(PARTS), 30)),
        random.integer(1, 5) === 1 ? 2 : 1,
      ]),
    );
    const nextChunk = random.pick([CHUNKS, CHUNKS, random.integer(1, CHUNKS), BLOCK_SIZE]);
    const closed = some(random.pick([0, 0, 0.001, 0.3]));
    const allowed = random.fraction() < 0.4 ? undefined : some(random.pick([0.001, 0.05, 0.5]));
    const limit = random.pick([1, 10, 100]);
    const scoresOf = random.pick([[], some(0.001)]);
    const isClosed = new Set(closed);
    const isAllowed = new Set(allowed);
    const isLive = (chunkNo: number) => chunkNo < nextChunk && !isClosed.has(chunkNo);
    const mayRank = (chunkNo: number) => allowed === undefined || isAllowed.has(chunkNo);
    const live = corpus.filter(({ chunkNo }) => isLive(chunkNo));
    const statistics = {
      liveChunks: live.length,
      averageLength: live.reduce((sum, { length }) => sum + length, 0) / Math.max(1, live.length),
    };
    const ofQuery = blocks.filter(({ term }) => terms.has(term));
    const expected = fullBm25({ terms, blocks: ofQuery, ...statistics, isLive, mayRank });

    // As the database sends them: without the bytes of blocks where a filter leaves nothing and all is live.
    const pinned = nextChunk < CHUNKS ? [nextChunk] : [];
    const needed = new Set([...closed, ...(allowed ?? []), ...pinned].map(blockOf));
    const sent = termBlocks(ofQuery).map((block) =>
      allowed === undefined || needed.has(block.block) ? block : { ...block, packed: undefined },
    );
    const result = await scoreBm25({
      ...{ terms, blocks: sent.filter(({ block }) => block <= blockOf(nextChunk)), ...statistics, nextChunk },
      ...{ closed: chunkSet(closed), allowed: allowed && chunkSet(allowed), limit, scoresOf },
      signal: new AbortController().signal,
    });

    const last = expected[limit - 1]?.score ?? 0;
    const where = `seed ${seed}, query ${query}`;
    expect(
      [...result.chunkNos].map((chunkNo, index) => ({ chunkNo, score: result.scores[index] })),
      where,
    ).toEqual(expected.filter(({ score }) => score >= last));
    const scores = new Map(expected.map(({ chunkNo, score }) => [chunkNo, score]));
    expect([...result.asked], where).toEqual(scoresOf.map((chunkNo) => scores.get(chunkNo) ?? 0));
  }
}, 120_000);
