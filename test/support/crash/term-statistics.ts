import type { CorpusRows } from "./corpus-rows.ts";
import type { IndexedChunk } from "./indexed-chunks.ts";

const K1 = 1.2;
const B = 0.75;

/** BM25's statistics, counted from the texts of some chunks. */
export class TermStatistics {
  readonly #chunks: readonly IndexedChunk[];
  readonly #averageLength: number;
  /** By term, then by chunk number: how often. */
  readonly frequencies = new Map<string, Map<number, number>>();

  constructor(chunks: readonly IndexedChunk[]) {
    this.#chunks = chunks;
    this.#averageLength = chunks.reduce((sum, { trueTerms }) => sum + trueTerms.length, 0) / chunks.length;
    for (const { number, trueTerms } of chunks) {
      for (const term of trueTerms) {
        const counts = this.frequencies.get(term) ?? new Map<number, number>();
        this.frequencies.set(term, counts.set(number, (counts.get(number) ?? 0) + 1));
      }
    }
  }

  /** The textbook's score of every chunk that has one of the terms, by chunk. */
  scores(terms: readonly string[]): Map<IndexedChunk, number> {
    const scores = new Map<IndexedChunk, number>();
    for (const term of terms) {
      const counts = this.frequencies.get(term) ?? new Map<number, number>();
      const idf = Math.log(1 + (this.#chunks.length - counts.size + 0.5) / (counts.size + 0.5));
      for (const chunk of this.#chunks) {
        const tf = counts.get(chunk.number);
        if (tf === undefined) continue;
        const norm = K1 * (1 - B + (B * chunk.trueTerms.length) / this.#averageLength);
        scores.set(chunk, (scores.get(chunk) ?? 0) + (idf * tf * (K1 + 1)) / (tf + norm));
      }
    }
    return scores;
  }
}

/**
 * The inverted index against the texts: less its closed chunks it has every live chunk's terms, with frequency and length, and
 * nothing else; its closed ones are chunks that are there.
 */
export function postingsProblems(rows: CorpusRows, live: readonly IndexedChunk[]): string[] {
  const problems: string[] = [];
  const liveByNumber = new Map(live.map((chunk) => [chunk.number, chunk]));
  const counted = new TermStatistics(live).frequencies;
  const stored = new Map<string, number>();
  for (const { term, block, n, packed, wide } of rows.postings) {
    if (wide.length > 0 || packed.length !== 4 * n) problems.push(`the postings of ${term} are not ${n}`);
    const bytes = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
    for (let at = 0; at < packed.length; at += 4) {
      const posting = bytes.getUint32(at);
      const number = block * 4096 + (posting >>> 20);
      if (number >= rows.chunks.length) problems.push(`${term} has a posting of chunk ${number}, which is not there`);
      const chunk = liveByNumber.get(number);
      if (chunk === undefined) continue;
      stored.set(term, (stored.get(term) ?? 0) + 1);
      const agrees =
        counted.get(term)?.get(number) === ((posting >>> 12) & 0xff) && chunk.trueTerms.length === (posting & 0xfff);
      if (!agrees) problems.push(`${term} has a posting of chunk ${number} that its text denies`);
    }
  }
  for (const [term, counts] of counted) {
    if (stored.get(term) !== counts.size) problems.push(`${term} is in ${counts.size} chunks and has another df`);
  }
  return problems;
}
