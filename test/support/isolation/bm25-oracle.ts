/** A chunk as BM25 sees it. */
export interface TermChunk {
  readonly key: string;
  readonly terms: readonly string[];
}

/**
 * BM25 by its textbook formula, k1 = 1.2 and b = 0.75, over these chunks and no others.
 *
 * @param words of the query, none twice
 * @returns the score of every chunk with one of them
 */
export function bm25(words: readonly string[], chunks: readonly TermChunk[]): Map<string, number> {
  const meanLength = chunks.reduce((sum, { terms }) => sum + terms.length, 0) / chunks.length;
  const scores = new Map<string, number>();
  for (const word of words) {
    const frequencies = chunks.map(({ terms }) => terms.filter((term) => term === word).length);
    const df = frequencies.filter((count) => count > 0).length;
    const idf = Math.log(1 + (chunks.length - df + 0.5) / (df + 0.5));
    for (const [index, { key, terms }] of chunks.entries()) {
      const tf = frequencies[index] ?? 0;
      if (tf === 0) continue;
      const score = (idf * tf * 2.2) / (tf + 1.2 * (0.25 + (0.75 * terms.length) / meanLength));
      scores.set(key, (scores.get(key) ?? 0) + score);
    }
  }
  return scores;
}
