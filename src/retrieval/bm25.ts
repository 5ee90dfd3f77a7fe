import {
  BLOCK_SIZE,
  blockOf,
  decodeBlock,
  firstChunkOf,
  forEachPosting,
  frequencyOf,
  lengthOf,
  MAX_LENGTH,
  offsetOf,
  readPostings,
  type TermBlock,
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
  const pause = pauseEvery(query.signal);
  const byNumber = new Map<number, WeightedBlock[]>();
  for (const { weight, blocks } of await weighTerms(query, pause)) {
    for (const block of blocks) {
      const together = byNumber.get(block.block);
      if (together === undefined) byNumber.set(block.block, [{ block, weight }]);
      else together.push({ block, weight });
    }
  }

  const top = new TopScores(query.limit);
  const asked = new AskedScores(query.scoresOf ?? []);
  const scorer = new BlockScorer(query.averageLength);
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
async function weighTerms(query: Bm25Query, pause: () => Promise<void> | undefined): Promise<WeightedTerm[]> {
  const blocksOf = new Map<string, TermBlock[]>([...query.terms.keys()].map((term) => [term, []]));
  for (const block of query.blocks) blocksOf.get(block.term)?.push(block);
  const terms: (WeightedTerm & { frequency: number })[] = [];
  for (const [term, blocks] of blocksOf) {
    let frequency = 0;
    for (const block of blocks) {
      frequency += liveIn(block, query);
      await pause();
    }
    const weight = (query.terms.get(term) ?? 0) * inverseDocumentFrequency(frequency, query.liveChunks) * (K1 + 1);
    if (frequency > 0) terms.push({ weight, blocks, frequency });
  }
  return terms.sort((a, b) => a.frequency - b.frequency);
}

/** Postings of a block that the version has. */
function liveIn(block: TermBlock, { nextChunk, closed }: Bm25Query): number {
  const end = nextChunk - firstChunkOf(block.block);
  const page = closed.page(block.block);
  if (block.packed === undefined || (page === undefined && end >= BLOCK_SIZE)) return block.n;
  let live = 0;
  for (const posting of readPostings(block)) {
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
  readonly #perTerm: number;
  /** Of each length that a posting has room for. */
  readonly #lengthNorms: Float64Array;

  constructor(averageLength: number) {
    this.#perTerm = averageLength > 0 ? (K1 * B) / averageLength : 0;
    this.#lengthNorms = Float64Array.from({ length: MAX_LENGTH + 1 }, (_, length) => this.#lengthNorm(length));
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
    for (const [index, { block, weight }] of blocks.entries()) {
      const bound = blocks.slice(index).reduceRight((sum, later) => sum + later.weight, 0);
      const isBelow = bound * SLACK < threshold;
      const least = threshold - bound * SLACK;
      const within: number[] | undefined = isBelow
        ? this.#select(found, least, mayRank, block.n / FINDING_COST)
        : undefined;
      if (within?.length === 0) return [];
      if (within === undefined) found = this.#add(block, weight, found);
      else this.#addWithin(block, weight, within);
      found = within ?? found;
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
    const comesTo = (offset: number) => (this.scores[offset] ?? 0) * SLACK >= least && mayRank(offset);
    if (among !== undefined) {
      const chosen = among.filter(comesTo);
      return chosen.length > most ? undefined : chosen.sort((a, b) => a - b);
    }
    const chosen: number[] = [];
    for (let offset = 0; offset < BLOCK_SIZE; offset++) {
      if ((this.scores[offset] ?? 0) * SLACK < least || !mayRank(offset)) continue;
      if (chosen.length >= most) return undefined;
      chosen.push(offset);
    }
    return chosen;
  }

  /** @returns the chunks with a score, where those that had one are listed and they are few still */
  #add(block: TermBlock, weight: number, found: number[] | undefined): number[] | undefined {
    const { scores } = this;
    const list = found !== undefined && found.length + block.n <= MAX_LISTED ? found : undefined;
    if (block.wide !== "") {
      forEachPosting(decodeBlock(block), (offset, frequency, length) => {
        if (scores[offset] === 0) list?.push(offset);
        scores[offset] = (scores[offset] ?? 0) + (weight * frequency) / (frequency + this.#lengthNorm(length));
      });
      return list;
    }
    const postings = readPostings(block);
    if (list !== undefined)
      for (const posting of postings) if (scores[offsetOf(posting)] === 0) list.push(offsetOf(posting));
    this.#addAll(postings, weight);
    return list;
  }

  /** @param within the chunks that it is about, in ascending order; others may be added to as well */
  #addWithin(block: TermBlock, weight: number, within: readonly number[]): void {
    if (block.wide !== "") this.#add(block, weight, undefined);
    else this.#addAll(postingsOf(readPostings(block), within), weight);
  }

  #addAll(postings: Uint32Array, weight: number): void {
    const { scores } = this;
    for (let index = 0; index < postings.length; index++) {
      const posting = postings[index] ?? 0;
      const offset = offsetOf(posting);
      const frequency = frequencyOf(posting);
      const norm = this.#lengthNorms[lengthOf(posting)] ?? 0;
      scores[offset] = (scores[offset] ?? 0) + (weight * frequency) / (frequency + norm);
    }
  }

  #lengthNorm(length: number): number {
    return K1 * (1 - B) + this.#perTerm * length;
  }
}

/** Those of the postings that are of some chunks. Both are in ascending order of offset. */
function postingsOf(postings: Uint32Array, offsets: readonly number[]): Uint32Array {
  const found = new Uint32Array(offsets.length);
  let count = 0;
  let from = 0;
  for (const offset of offsets) {
    let end = postings.length;
    while (from < end) {
      const middle = (from + end) >>> 1;
      if (offsetOf(postings[middle] ?? 0) < offset) from = middle + 1;
      else end = middle;
    }
    const posting = postings[from];
    if (posting === undefined) break;
    if (offsetOf(posting) === offset) found[count++] = posting;
  }
  return found.subarray(0, count);
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
