import type { DocumentPrint } from "../sql/recall.ts";
import type { Candidate } from "./candidate.ts";
import { pauseEvery } from "./pause.ts";

/**
 * Bits in which the fingerprints of near-duplicates differ at most. One word changed in 40 is 7 bits by median, in 80 it is 5, and
 * two such copies differ in two places: with 12, 500 copies of a passage of 25 to 45 words are one group, with 10 they are two.
 * Unrelated texts differ in about 32; of SciFact's abstracts no two are nearer than 11.
 */
const MAX_DISTANCE = 12;

/**
 * Characters from which a text has enough runs of words for bits to be compared. Shorter ones, a template with a number filled
 * in among them, are duplicates only with equal fingerprints.
 */
const MIN_CHARACTERS = 100;

/**
 * Leaves at most `most` documents of each group of near-duplicates, those that stand first, with all their chunks. A document
 * joins the group of the first one left that it is near to, so whatever is left out is near to something that is not: groups do
 * not run on from record to record of one template. Chunks of one document are one member, and a document without words or
 * without a known print is in no group. Gives way to other work every few milliseconds.
 *
 * @param candidates best first, and so is what is left of them
 * @param prints by chunk number
 * @param most at least 1
 * @throws the signal's reason when it aborts
 */
export async function collapse<One extends Candidate>(
  candidates: readonly One[],
  prints: ReadonlyMap<number, DocumentPrint>,
  most: number,
  signal: AbortSignal,
): Promise<One[]> {
  const pause = pauseEvery(signal);
  const left: Member[] = [];
  const isLeft = new Map<string, boolean>();
  for (const { docId, chunkNo } of candidates) {
    if (isLeft.has(docId)) continue;
    const print = prints.get(chunkNo);
    isLeft.set(docId, print === undefined || print.fingerprint === 0n || joins(print, left, most));
    await pause();
  }
  return candidates.filter(({ docId }) => isLeft.get(docId));
}

/** A document that is left. */
interface Member {
  /** The halves of its fingerprint: comparing bigints takes a hundred times as long. */
  readonly high: number;
  readonly low: number;
  readonly isShort: boolean;
  /** One object for all members of a group. */
  readonly group: { size: number };
}

/** Adds a document to those that are left, unless its group is full. */
function joins({ fingerprint, characters }: DocumentPrint, left: Member[], most: number): boolean {
  const high = Number(BigInt.asIntN(32, fingerprint >> 32n));
  const low = Number(BigInt.asIntN(32, fingerprint));
  const isShort = characters < MIN_CHARACTERS;
  const near = left.find((other) => {
    const distance = bitsOf(high ^ other.high) + bitsOf(low ^ other.low);
    return distance <= (isShort || other.isShort ? 0 : MAX_DISTANCE);
  });
  const group = near?.group ?? { size: 0 };
  if (group.size >= most) return false;
  group.size++;
  left.push({ high, low, isShort, group });
  return true;
}

/** How many bits of 32 are set. */
function bitsOf(bits: number): number {
  const pairs = bits - ((bits >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
