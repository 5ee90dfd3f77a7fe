import type { EmbeddingModel } from "../../src/models/embedding.ts";

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** The two special tokens that a sentence encoder puts around every text. */
const SPECIAL_TOKENS = 2;

export interface TestEmbeddingOptions {
  /** Length of a vector; 32 when absent. */
  readonly dimension?: number;
  /** Longest input in tokens, special tokens included; 256 when absent. */
  readonly maxTokens?: number;
  /** Name of the space; `test-bag-of-words@<dimension>` when absent. */
  readonly identity?: string;
}

/**
 * A deterministic embedding model for tests: each word is hashed to one direction, a text is the unit-length sum of its
 * words. Texts that share words are similar, the same words in another order are the same vector, and nothing is loaded.
 *
 * Words are runs of letters and digits, lower-cased; a text without any is the unit vector of direction 0. Queries and
 * documents are treated alike. Words past `maxTokens - 2` are cut, as a real model cuts them.
 */
export function testEmbeddingModel(options: TestEmbeddingOptions = {}): EmbeddingModel {
  const dimension = options.dimension ?? 32;
  const maxTokens = options.maxTokens ?? 256;
  const identity = options.identity ?? `test-bag-of-words@${dimension}`;
  return {
    space: { identity, dimension },
    maxTokens,
    isRepeatable: true,
    async countTokens(texts) {
      return texts.map((text) => words(text).length + SPECIAL_TOKENS);
    },
    async embed(texts, _kind, signal) {
      signal.throwIfAborted();
      return texts.map((text) => bagOfWords(words(text).slice(0, maxTokens - SPECIAL_TOKENS), dimension));
    },
    isReady: () => true,
    async close() {},
  };
}

/** The words of a text that the test model counts and hashes, in order. */
function words(text: string): string[] {
  return (
    text
      .normalize("NFC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

function bagOfWords(tokens: readonly string[], dimension: number): Float32Array {
  const sum = new Float64Array(dimension);
  for (const token of tokens) {
    const direction = hash(token) % dimension;
    sum[direction] = (sum[direction] ?? 0) + 1;
  }
  if (tokens.length === 0) sum[0] = 1;
  const length = Math.hypot(...sum);
  return Float32Array.from(sum, (x) => x / length);
}

/** FNV-1a over UTF-16 code units, as an unsigned 32-bit integer. */
function hash(token: string): number {
  let h = FNV_OFFSET;
  for (let i = 0; i < token.length; i++) h = Math.imul(h ^ token.charCodeAt(i), FNV_PRIME);
  // FNV's low bits depend on the low bits of the letters alone, and it is the low bits that choose a direction.
  h ^= h >>> 16;
  return Math.imul(h, 0x85ebca6b) >>> 8;
}
