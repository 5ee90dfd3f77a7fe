import { tokenize } from "../catalog/tokenize.ts";

/** Words in a shingle. */
const SHINGLE = 3;

/** Seeds of the two 32-bit halves, the high one first. */
const SEEDS = [0x811c9dc5, 0x9747b28c] as const;

/**
 * A 64-bit SimHash of a text: near-duplicates differ in few bits, unrelated texts in about 32. It goes over every three
 * consecutive words (lower-case, NFC), so that marks, case and line breaks do not matter; a text of fewer words is one shingle.
 *
 * Fingerprints are stored and compared with later ones, so the definition must not change.
 *
 * @returns signed, as Postgres' bigint has it; 0 for a text without words
 * @see Charikar, Similarity Estimation Techniques from Rounding Algorithms, STOC 2002
 */
export function fingerprintOf(text: string): bigint {
  const words = tokenize(text, "none");
  if (words.length === 0) return 0n;
  const shingles = Math.max(1, words.length - SHINGLE + 1);
  const ones = new Int32Array(64);
  for (let first = 0; first < shingles; first++) {
    const shingle = words.slice(first, first + SHINGLE).join(" ");
    for (const [half, seed] of SEEDS.entries())
      countBits(hash32(shingle, seed), ones.subarray(32 * half, 32 * half + 32));
  }
  let fingerprint = 0n;
  for (const count of ones) fingerprint = (fingerprint << 1n) | (2 * count > shingles ? 1n : 0n);
  return BigInt.asIntN(64, fingerprint);
}

/** In how many bits two fingerprints differ, 0 to 64. */
export function hammingDistance(a: bigint, b: bigint): number {
  let distance = 0;
  for (let rest = BigInt.asUintN(64, a ^ b); rest > 0n; rest &= rest - 1n) distance++;
  return distance;
}

/** Adds each bit of a 32-bit hash to its counter, the highest one first. */
function countBits(hash: number, ones: Int32Array): void {
  for (let bit = 0; bit < 32; bit++) ones[bit] = (ones[bit] ?? 0) + ((hash >>> (31 - bit)) & 1);
}

/** FNV-1a over UTF-16 units, then the finishing steps of MurmurHash3, which spread the last units over all bits. */
function hash32(text: string, seed: number): number {
  let hash = seed;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
