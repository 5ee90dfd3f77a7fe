/** Chunks with their scores, best first; equal scores in the order of their numbers. */
export interface ScoredChunks {
  readonly chunkNos: Uint32Array;
  readonly scores: Float64Array;
}

/** Chunks beyond the limit that share the last score: kept up to this many, the ones with the lowest numbers. */
export const MAX_TIES = 4_096;

interface Scored {
  readonly chunkNo: number;
  readonly score: number;
}

/**
 * Keeps the best `limit` of the chunks that are offered and every chunk that ties with the last of them, at most `MAX_TIES` more.
 * Who decides ties by a document's id therefore sees all that it may choose from, but where thousands of chunks score the same.
 */
export class TopScores {
  readonly #limit: number;
  readonly #best: LargestNumbers;
  #kept: Scored[] = [];

  constructor(limit: number) {
    this.#limit = limit;
    this.#best = new LargestNumbers(limit);
  }

  /** Nothing below this score can be among the best any more. */
  get threshold(): number {
    return this.#best.smallest;
  }

  /** Chunks must be offered in ascending order of number, none twice. */
  offer(chunkNo: number, score: number): void {
    if (score < this.threshold) return;
    this.#best.add(score);
    this.#kept.push({ chunkNo, score });
    if (this.#kept.length >= 2 * (this.#limit + MAX_TIES)) this.#cut();
  }

  take(): ScoredChunks {
    this.#cut();
    this.#kept.sort((a, b) => b.score - a.score || a.chunkNo - b.chunkNo);
    return {
      chunkNos: Uint32Array.from(this.#kept, (one) => one.chunkNo),
      scores: Float64Array.from(this.#kept, (one) => one.score),
    };
  }

  /** Leaves the order alone, so the first of those that tie have the lowest numbers. */
  #cut(): void {
    const { threshold } = this;
    let room = this.#limit + MAX_TIES;
    for (const { score } of this.#kept) if (score > threshold) room--;
    this.#kept = this.#kept.filter(({ score }) => score > threshold || (score === threshold && room-- > 0));
  }
}

/** The largest of the numbers that were added: a heap with the smallest of them on top. */
class LargestNumbers {
  readonly #heap: Float64Array;
  #size = 0;
  /** -Infinity until `count` numbers were added. */
  smallest = Number.NEGATIVE_INFINITY;

  constructor(count: number) {
    this.#heap = new Float64Array(count);
  }

  add(value: number): void {
    if (this.#size < this.#heap.length) {
      this.#heap[this.#size++] = value;
      // Sorted ascending is a heap.
      if (this.#size === this.#heap.length) this.smallest = this.#heap.sort()[0] ?? value;
    } else if (value > this.smallest) {
      this.smallest = this.#sink(value);
    }
  }

  /** Puts the value in the place of the smallest, and gives the one that is smallest then. */
  #sink(value: number): number {
    const heap = this.#heap;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      const right = child + 1;
      if (right < heap.length && (heap[right] ?? 0) < (heap[child] ?? 0)) child = right;
      const below = heap[child] ?? 0;
      if (below >= value) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = value;
    return heap[0] ?? value;
  }
}
