/** Chunks with their scores, best first; equal scores in the order of their numbers. */
export interface ScoredChunks {
  readonly chunkNos: Uint32Array;
  readonly scores: Float64Array;
}

/** Chunks beyond the limit that share the last score: kept up to this many, the ones with the lowest numbers. */
export const MAX_TIES = 4_096;

/**
 * Keeps the best `limit` of the chunks that are offered and every chunk that ties with the last of them, at most `MAX_TIES` more.
 * Who decides ties by a document's id therefore sees all that it may choose from, but where thousands of chunks score the same.
 */
export class TopScores {
  readonly #limit: number;
  #kept: { chunkNo: number; score: number }[] = [];
  /** Nothing below this score can be among the best any more. */
  #threshold = Number.NEGATIVE_INFINITY;
  #tiesAreFull = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Chunks must be offered in ascending order of number, none twice. */
  offer(chunkNo: number, score: number): void {
    if (score < this.#threshold || (this.#tiesAreFull && score === this.#threshold)) return;
    this.#kept.push({ chunkNo, score });
    if (this.#kept.length >= 2 * (this.#limit + MAX_TIES)) this.#cut();
  }

  take(): ScoredChunks {
    this.#cut();
    return {
      chunkNos: Uint32Array.from(this.#kept, (one) => one.chunkNo),
      scores: Float64Array.from(this.#kept, (one) => one.score),
    };
  }

  #cut(): void {
    this.#kept.sort((a, b) => b.score - a.score || a.chunkNo - b.chunkNo);
    const last = this.#kept[this.#limit - 1];
    if (last === undefined) return;
    const firstBelow = this.#kept.findIndex((one) => one.score < last.score);
    const tied = firstBelow < 0 ? this.#kept.length : firstBelow;
    this.#tiesAreFull = tied >= this.#limit + MAX_TIES;
    this.#kept.length = Math.min(tied, this.#limit + MAX_TIES);
    this.#threshold = last.score;
  }
}
