import {
  BLOCK_SIZE,
  blockOf,
  firstChunkOf,
  forEachPosting,
  type PostingBlock,
  postingsIn,
} from "../catalog/posting-block.ts";
import { type ChunkSet, hasOffset } from "./chunk-set.ts";
import { pauseEvery } from "./pause.ts";
import { type ScoredChunks, TopScores } from "./top-scores.ts";

const K1 = 1.2;
const B = 0.75;

export interface Bm25Query {
  /** How often the query says each term. */
  readonly terms: ReadonlyMap<string, number>;
  /** Every block of those terms in the corpus; blocks of other terms count for nothing. */
  readonly blocks: readonly PostingBlock[];
  /** Chunks that the version of the corpus has: BM25's N. */
  readonly liveChunks: number;
  /** Their mean length in terms. */
  readonly averageLength: number;
  /** Chunks with this number or a higher one are later than the version. */
  readonly nextChunk: number;
  /** Chunks that the version does not have any more. */
  readonly closed: ChunkSet;
  /** Chunks that pass the filter; absent = all. They alone are ranked; statistics are those of the whole corpus. */
  readonly allowed?: ChunkSet | undefined;
  readonly limit: number;
  /** Chunks whose score the caller wants whatever their rank. */
  readonly scoresOf?: readonly number[];
  readonly signal: AbortSignal;
}

export interface Bm25Result extends ScoredChunks {
  /** Scores of the chunks in `scoresOf`, in their order; 0 for one without a term of the query, or not allowed. */
  readonly asked: Float64Array;
}

/**
 * Ranks chunks by BM25 with k1 = 1.2 and b = 0.75:
 * score = Σ over the query's tokens of idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / averageLength)),
 * idf = ln(1 + (N - df + 0.5) / (df + 0.5)). A term that the query says twice counts twice.
 *
 * The document frequency df is counted here, over the chunks of the version read, so it is exact for each version. Scores are
 * finite and above 0, and the same query gives the same ones to the last bit. Gives way to other work every few milliseconds.
 *
 * @returns the best `limit` and what ties with the last of them, as `TopScores` keeps them; a chunk without a term is never there
 * @throws the signal's reason when it aborts
 * @see Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009
 */
export async function scoreBm25(query: Bm25Query): Promise<Bm25Result> {
  const pause = pauseEvery(query.signal);
  const blocksOf = new Map<string, PostingBlock[]>([...query.terms.keys()].map((term) => [term, []]));
  for (const block of query.blocks) blocksOf.get(block.term)?.push(block);

  const byNumber = new Map<number, WeightedBlock[]>();
  for (const [term, blocks] of blocksOf) {
    let frequency = 0;
    for (const block of blocks) {
      frequency += liveIn(block, query);
      await pause();
    }
    const weight = (query.terms.get(term) ?? 0) * inverseDocumentFrequency(frequency, query.liveChunks) * (K1 + 1);
    for (const block of blocks) {
      const together = byNumber.get(block.block);
      if (together === undefined) byNumber.set(block.block, [{ block, weight }]);
      else together.push({ block, weight });
    }
  }

  const top = new TopScores(query.limit);
  const asked = new AskedScores(query.scoresOf ?? []);
  const lengthNorm = lengthNormFor(query.averageLength);
  const scores = new Float64Array(BLOCK_SIZE);
  for (const number of [...byNumber.keys()].sort((a, b) => a - b)) {
    if (query.allowed !== undefined && query.allowed.page(number) === undefined) continue;
    scores.fill(0);
    for (const { block, weight } of byNumber.get(number) ?? []) {
      forEachPosting(block, (offset, frequency, length) => {
        scores[offset] = (scores[offset] ?? 0) + (weight * frequency) / (frequency + lengthNorm(length));
      });
      await pause();
    }
    // Asking who may be ranked once a chunk, not once a posting.
    const mayRank = rankable(number, query);
    const first = firstChunkOf(number);
    for (let offset = 0; offset < BLOCK_SIZE; offset++) {
      const score = scores[offset] ?? 0;
      if (score === 0) continue;
      if (mayRank(offset)) top.offer(first + offset, score);
      else scores[offset] = 0;
    }
    asked.read(number, scores);
  }
  return { ...top.take(), asked: asked.scores };
}

interface WeightedBlock {
  readonly block: PostingBlock;
  readonly weight: number;
}

/** Postings of a block that the version has. */
function liveIn(block: PostingBlock, { nextChunk, closed }: Bm25Query): number {
  const first = firstChunkOf(block.block);
  const page = closed.page(block.block);
  if (page === undefined && first + BLOCK_SIZE <= nextChunk) return postingsIn(block);
  let live = 0;
  forEachPosting(block, (offset) => {
    if (first + offset < nextChunk && !hasOffset(page, offset)) live++;
  });
  return live;
}

/** Which chunks of a block may be ranked, by their offset. */
function rankable(block: number, { nextChunk, closed, allowed }: Bm25Query): (offset: number) => boolean {
  const end = nextChunk - firstChunkOf(block);
  const closedPage = closed.page(block);
  const allowedPage = allowed?.page(block);
  if (allowed !== undefined)
    return (offset) => offset < end && !hasOffset(closedPage, offset) && hasOffset(allowedPage, offset);
  if (closedPage === undefined && end >= BLOCK_SIZE) return () => true;
  return (offset) => offset < end && !hasOffset(closedPage, offset);
}

function inverseDocumentFrequency(frequency: number, liveChunks: number): number {
  // No more chunks can hold a term than there are; should the two ever disagree, scores stay finite and positive.
  const total = Math.max(liveChunks, frequency);
  return Math.log(1 + (total - frequency + 0.5) / (frequency + 0.5));
}

function lengthNormFor(averageLength: number): (length: number) => number {
  const perTerm = averageLength > 0 ? (K1 * B) / averageLength : 0;
  return (length) => K1 * (1 - B) + perTerm * length;
}

/** Picks the scores of certain chunks out of each block's. */
class AskedScores {
  readonly scores: Float64Array;
  readonly #places = new Map<number, { offset: number; index: number }[]>();

  constructor(chunkNos: readonly number[]) {
    this.scores = new Float64Array(chunkNos.length);
    for (const [index, chunkNo] of chunkNos.entries()) {
      const block = blockOf(chunkNo);
      const place = { offset: chunkNo - firstChunkOf(block), index };
      const places = this.#places.get(block);
      if (places === undefined) this.#places.set(block, [place]);
      else places.push(place);
    }
  }

  read(block: number, scores: Float64Array): void {
    for (const { offset, index } of this.#places.get(block) ?? []) this.scores[index] = scores[offset] ?? 0;
  }
}
