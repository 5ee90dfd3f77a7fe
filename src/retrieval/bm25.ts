import {
  addPostings,
  BLOCK_SIZE,
  blockOf,
  firstChunkOf,
  LENGTHS,
  offsetOf,
  PostingReader,
  postingsOf,
  type TermBlock,
  wideOf,
} from "../catalog/posting-block.ts";
import { type ChunkSet, hasOffset } from "./chunk-set.ts";
import { pauseEvery } from "./pause.ts";
import { type ScoredChunks, TopScores } from "./top-scores.ts";

const K1 = 1.2;
const B = 0.75;
/** Sums of bounds and of scores are rounded apart: a bound is taken for this much more than it is. */
const SLACK = 1 + 1e-9;
/** To find a posting takes as long as to score this many. */
const FINDING_COST = 16;
/** Chunks of a block that are listed as they are found; where there are more, going over the whole block is no dearer. */
const MAX_LISTED = 256;
/** Blocks are read in some microseconds each. */
const BLOCKS_BETWEEN_LOOKS = 8;

export interface Bm25Query {
  /** How often the query says each term. */
  readonly terms: ReadonlyMap<string, number>;
  /** Every block of those terms in the corpus that has chunks of the version; blocks of other terms count for nothing. */
  readonly blocks: readonly TermBlock[];
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
 * finite and above 0, and the same query gives the same ones to the last bit. What cannot be among the best any more is not worked
 * out: a term adds less than its idf · (k1 + 1), so chunks that have only common terms are passed over once the best are known to be
 * above what those can come to. Gives way to other work every few milliseconds.
 *
 * @returns the best `limit` and what ties with the last of them, as `TopScores` keeps them; a chunk without a term is never there
 * @throws the signal's reason when it aborts
 * @see Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009; Turtle & Flood, Query Evaluation:
 *   Strategies and Optimizations, 1995 (MaxScore)
 */
export async function scoreBm25(query: Bm25Query): Promise<Bm25Result> {
  const pause = pauseEvery(query.signal, BLOCKS_BETWEEN_LOOKS);
  const reader = new PostingReader();
  const byNumber = new Map<number, WeightedBlock[]>();
  for (const { weight, blocks } of await weighTerms(query, reader, pause)) {
    for (const block of blocks) {
      const together = byNumber.get(block.block);
      if (together === undefined) byNumber.set(block.block, [{ block, weight }]);
      else together.push({ block, weight });
    }
  }

  const top = new TopScores(query.limit);
  const asked = new AskedScores(query.scoresOf ?? []);
  const scorer = new BlockScorer(query.averageLength, reader);
  for (const [number, blocks] of [...byNumber].sort(([a], [b]) => a - b)) {
    if (query.allowed !== undefined && query.allowed.page(number) === undefined) continue;
    const mayRank = rankable(number, query);
    const threshold = asked.isIn(number) ? Number.NEGATIVE_INFINITY : top.threshold;
    const offsets = await scorer.score(blocks, threshold, mayRank, pause);
    const first = firstChunkOf(number);
    for (const offset of offsets) top.offer(first + offset, scorer.scores[offset] ?? 0);
    asked.read(number, scorer.scores, mayRank);
  }
  return { ...top.take(), asked: asked.scores };
}

interface WeightedTerm {
  /** More than the term adds to any score. */
  readonly weight: number;
  readonly blocks: readonly TermBlock[];
}

interface WeightedBlock {
  readonly weight: number;
  readonly block: TermBlock;
}

/** The terms that the version has, the rarest first; of equally rare ones as the query has them. Scores are added up in this order. */
async function weighTerms(
  query: Bm25Query,
  reader: PostingReader,
  pause: () => Promise<void> | undefined,
): Promise<WeightedTerm[]> {
  const blocksOf = new Map<string, TermBlock[]>([...query.terms.keys()].map((term) => [term, []]));
  for (const block of query.blocks) blocksOf.get(block.term)?.push(block);
  const terms: (WeightedTerm & { frequency: number })[] = [];
  for (const [term, blocks] of blocksOf) {
    let frequency = 0;
    for (const block of blocks) {
      frequency += liveIn(block, query, reader);
      await pause();
    }
    const weight = (query.terms.get(term) ?? 0) * inverseDocumentFrequency(frequency, query.liveChunks) * (K1 + 1);
    if (frequency > 0) terms.push({ weight, blocks, frequency });
  }
  return terms.sort((a, b) => a.frequency - b.frequency);
}

/** Postings of a block that the version has. */
function liveIn(block: TermBlock, { nextChunk, closed }: Bm25Query, reader: PostingReader): number {
  const end = nextChunk - firstChunkOf(block.block);
  const page = closed.page(block.block);
  if (block.packed === undefined || (page === undefined && end >= BLOCK_SIZE)) return block.n;
  let live = 0;
  for (const posting of reader.read(block)) {
    const offset = offsetOf(posting);
    if (offset < end && !hasOffset(page, offset)) live++;
  }
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

/** Scores the chunks of one block after the other. */
class BlockScorer {
  /** By offset in the block. */
  readonly scores = new Float64Array(BLOCK_SIZE);
  readonly #reader: PostingReader;
  readonly #perTerm: number;
  /** Of each length that a posting has room for. */
  readonly #lengthNorms = new Float64Array(LENGTHS);

  constructor(averageLength: number, reader: PostingReader) {
    this.#reader = reader;
    this.#perTerm = averageLength > 0 ? (K1 * B) / averageLength : 0;
    for (let length = 0; length < LENGTHS; length++) this.#lengthNorms[length] = this.#lengthNorm(length);
  }

  /**
   * Leaves the score of each chunk that may be ranked and comes to the threshold; another's may be too low.
   *
   * @param blocks the rarest term's first
   * @returns offsets in ascending order, all of those chunks' among them
   */
  async score(
    blocks: readonly WeightedBlock[],
    threshold: number,
    mayRank: (offset: number) => boolean,
    pause: () => Promise<void> | undefined,
  ): Promise<readonly number[]> {
    this.scores.fill(0);
    // Those that have a score, as long as they are few.
    let found: number[] | undefined = [];
    const bounds = boundsOf(blocks);
    for (const [index, { block, weight }] of blocks.entries()) {
      const bound = bounds[index] ?? 0;
      const isBelow = bound * SLACK < threshold;
      const within: number[] | undefined = isBelow
        ? this.#select(found, threshold - bound * SLACK, mayRank, block.n / FINDING_COST)
        : undefined;
      if (within?.length === 0) return [];
      found = this.#add(block, weight, found, within);
      await pause();
    }
    return this.#select(found, Math.max(threshold, Number.MIN_VALUE), mayRank, BLOCK_SIZE) ?? [];
  }

  /** Chunks whose score so far comes to `least`, in ascending order; undefined when there are more than `most`. */
  #select(
    among: readonly number[] | undefined,
    least: number,
    mayRank: (offset: number) => boolean,
    most: number,
  ): number[] | undefined {
    const { scores } = this;
    const floor = least / SLACK;
    if (among !== undefined) {
      const chosen = among.filter((offset) => (scores[offset] ?? 0) >= floor && mayRank(offset));
      return chosen.length > most ? undefined : chosen.sort((a, b) => a - b);
    }
    const chosen: number[] = [];
    for (let offset = 0; offset < scores.length; offset++) {
      if ((scores[offset] ?? 0) < floor || !mayRank(offset)) continue;
      if (chosen.length >= most) return undefined;
      chosen.push(offset);
    }
    return chosen;
  }

  /**
   * @param found the chunks with a score so far, where they are listed
   * @param within the chunks that it is about, in ascending order, where they are few; others may be added to as well
   * @returns the chunks with a score that it is about, where they are few
   */
  #add(
    block: TermBlock,
    weight: number,
    found: number[] | undefined,
    within: number[] | undefined,
  ): number[] | undefined {
    const { scores } = this;
    const all = this.#reader.read(block);
    const postings = within === undefined ? all : postingsOf(all, within);
    let listed = within;
    if (listed === undefined && found !== undefined && found.length + block.n <= MAX_LISTED) {
      for (const posting of postings) if (scores[offsetOf(posting)] === 0) found.push(offsetOf(posting));
      listed = found;
    }
    const wide = [...wideOf(block)].map(([offset, counts]) => ({ ...counts, offset, before: scores[offset] ?? 0 }));
    addPostings(postings, weight, this.#lengthNorms, scores);
    for (const { offset, frequency, length, before } of wide)
      scores[offset] = before + (weight * frequency) / (frequency + this.#lengthNorm(length));
    return listed;
  }

  #lengthNorm(length: number): number {
    return K1 * (1 - B) + this.#perTerm * length;
  }
}

/** More than each block and those after it add to any score together. */
function boundsOf(blocks: readonly WeightedBlock[]): Float64Array {
  const bounds = new Float64Array(blocks.length);
  let sum = 0;
  for (let index = blocks.length - 1; index >= 0; index--) {
    sum += blocks[index]?.weight ?? 0;
    bounds[index] = sum;
  }
  return bounds;
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

  isIn(block: number): boolean {
    return this.#places.has(block);
  }

  read(block: number, scores: Float64Array, mayRank: (offset: number) => boolean): void {
    for (const { offset, index } of this.#places.get(block) ?? [])
      this.scores[index] = mayRank(offset) ? (scores[offset] ?? 0) : 0;
  }
}
