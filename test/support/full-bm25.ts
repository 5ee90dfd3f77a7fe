import { firstChunkOf, forEachPosting, type PostingBlock } from "../../src/catalog/posting-block.ts";

export interface FullBm25 {
  readonly terms: ReadonlyMap<string, number>;
  readonly blocks: readonly PostingBlock[];
  readonly liveChunks: number;
  readonly averageLength: number;
  isLive(chunkNo: number): boolean;
  mayRank(chunkNo: number): boolean;
}

/**
 * BM25 by full evaluation: every posting is scored, one after the other. Sums are in the order that `scoreBm25` states, so the two
 * must agree to the last bit.
 *
 * @returns the score of every live chunk with a term of the query that may be ranked, best first, then by number
 */
export function fullBm25(query: FullBm25, k1 = 1.2, b = 0.75): { chunkNo: number; score: number }[] {
  const blocksOf = new Map<string, PostingBlock[]>([...query.terms.keys()].map((term) => [term, []]));
  for (const block of query.blocks) blocksOf.get(block.term)?.push(block);
  const terms = [...blocksOf].map(([term, blocks]) => {
    const postings = blocks.flatMap((block) => {
      const found: { chunkNo: number; frequency: number; length: number }[] = [];
      forEachPosting(block, (offset, frequency, length) => {
        const chunkNo = firstChunkOf(block.block) + offset;
        if (query.isLive(chunkNo)) found.push({ chunkNo, frequency, length });
      });
      return found;
    });
    return { count: query.terms.get(term) ?? 0, postings };
  });
  const scores = new Map<number, number>();
  for (const { count, postings } of terms.sort((a, b) => a.postings.length - b.postings.length)) {
    const df = postings.length;
    const weight = count * Math.log(1 + (query.liveChunks - df + 0.5) / (df + 0.5)) * (k1 + 1);
    for (const { chunkNo, frequency, length } of postings) {
      if (!query.mayRank(chunkNo)) continue;
      const norm = k1 * (1 - b) + ((k1 * b) / query.averageLength) * length;
      scores.set(chunkNo, (scores.get(chunkNo) ?? 0) + (weight * frequency) / (frequency + norm));
    }
  }
  return [...scores]
    .map(([chunkNo, score]) => ({ chunkNo, score }))
    .sort((a, b) => b.score - a.score || a.chunkNo - b.chunkNo);
}
