import { createHash } from "node:crypto";
import { tokenize } from "../catalog/tokenize.ts";
import type { TrustLevel } from "../protocol/wire.ts";
import { writeLookAlikes } from "../trust/look-alikes.ts";
import { revealText } from "../trust/reveal-text.ts";

/** A shorter text is no passage: titles, labels and values of a field are often the same and mean what their document does. */
const MIN_WORDS = 8;

/** From so many words on, a text that differs in one is still near. Shorter ones are most often records of one template. */
const MIN_WORDS_TO_COMPARE = 16;

/** One for each 32 bits, the highest first. */
const SEEDS = [0x811c9dc5, 0x9747b28c, 0x3c6ef372, 0xa54ff53a] as const;

/**
 * A 128-bit fingerprint of a text: near-duplicates differ in few bits, other texts in about 64. It is a SimHash over every two
 * consecutive words as a reader sees them, so that marks, case, line breaks and hidden characters do not matter.
 *
 * Of a trusted text, and of one of less than 16 words, it is a digest of the words: another text with the same words, and as
 * trusted, has the same fingerprint, and nothing else is near. Records of one template may differ in a word and mean something
 * else; only of what nobody vouches for is it likelier that such a text is one more copy. And no copy of a trusted text takes
 * its place. Of less than 8 words there is none.
 *
 * Fingerprints are stored and compared with later ones, so the definition must not change.
 *
 * @returns 128 times 0 or 1; null for a text that is near to none
 * @see Charikar, Similarity Estimation Techniques from Rounding Algorithms, STOC 2002
 */
export function fingerprintOf(text: string, trust: TrustLevel): string | null {
  const words = tokenize(revealText(text).text.normalize("NFKC"), "none").map(writeLookAlikes);
  if (words.length < MIN_WORDS) return null;
  if (trust === "trusted") return digest(["trusted", ...words]);
  return words.length < MIN_WORDS_TO_COMPARE ? digest(words) : simHash(words);
}

function simHash(words: readonly string[]): string {
  const ones = new Int32Array(32 * SEEDS.length);
  for (let second = 1; second < words.length; second++) {
    const hash = fnv1a(`${words[second - 1]} ${words[second]}`);
    for (const [lane, seed] of SEEDS.entries()) countBits(mix(hash ^ seed), ones.subarray(32 * lane, 32 * lane + 32));
  }
  const shingles = words.length - 1;
  return Array.from(ones, (count) => (2 * count > shingles ? "1" : "0")).join("");
}

function digest(words: readonly string[]): string {
  const bytes = createHash("sha256").update(words.join(" "), "utf8").digest().subarray(0, 16);
  return Array.from(bytes, (byte) => byte.toString(2).padStart(8, "0")).join("");
}

/** Adds each bit of a 32-bit hash to its counter, the highest one first. */
function countBits(hash: number, ones: Int32Array): void {
  for (let bit = 0; bit < 32; bit++) ones[bit] = (ones[bit] ?? 0) + ((hash >>> (31 - bit)) & 1);
}

/** FNV-1a over UTF-16 units. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}

/** The finishing steps of MurmurHash3, which spread every bit over all others. */
function mix(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
