import { NEAR_BITS } from "../sql/near-duplicates.ts";
import type { Candidate } from "./candidate.ts";
import { pauseEvery } from "./pause.ts";

/** What is left of some candidates. */
export interface Collapsed<One> {
  /** Best first. */
  readonly left: readonly One[];
  /** Fingerprints of the first members of groups that had more, in the order of their first members. */
  readonly full: readonly string[];
}

/** A group of near-duplicates. */
interface Group {
  readonly first: string;
  readonly documents: Set<string>;
  hadMore: boolean;
}

/** A candidate that is left. */
interface Member {
  readonly lanes: Lanes;
  readonly group: Group;
}

/** A fingerprint, 32 bits each. */
export type Lanes = readonly [number, number, number, number];

/**
 * Leaves the chunks of at most `most` documents of each group of near-duplicates, those that stand first. A candidate joins the
 * group of the first one left that it is near to, and is left out when any group with a member that it is near to is full: groups
 * do not run on from record to record of one template. Chunks of one document are no copies of each other, and one without a
 * fingerprint is in no group. Gives way to other work every few milliseconds.
 *
 * @param candidates best first
 * @param most at least 1
 * @throws the signal's reason when it aborts
 */
export async function collapse<One extends Candidate>(
  candidates: readonly One[],
  most: number,
  signal: AbortSignal,
): Promise<Collapsed<One>> {
  const pause = pauseEvery(signal);
  const members: Member[] = [];
  const groups = new Set<Group>();
  const left: One[] = [];
  for (const candidate of candidates) {
    const { docId, print } = candidate;
    if (print === undefined || joins(docId, print, members, groups, most)) left.push(candidate);
    await pause();
  }
  return { left, full: [...groups].filter(({ hadMore }) => hadMore).map(({ first }) => first) };
}

/** Adds a candidate to those that are left, unless a group that it is near to is full. */
function joins(docId: string, print: string, members: Member[], groups: Set<Group>, most: number): boolean {
  const lanes = lanesOf(print);
  let joined: Group | undefined;
  for (const { lanes: others, group } of members) {
    if (bitsApart(lanes, others) > NEAR_BITS) continue;
    joined ??= group;
    if (group.documents.size < most || group.documents.has(docId)) continue;
    group.hadMore = true;
    return false;
  }
  const group = joined ?? { first: print, documents: new Set(), hadMore: false };
  groups.add(group);
  group.documents.add(docId);
  members.push({ lanes, group });
  return true;
}

export const lanesOf = (print: string): Lanes => [lane(print, 0), lane(print, 32), lane(print, 64), lane(print, 96)];

const lane = (print: string, from: number): number => Number.parseInt(print.slice(from, from + 32), 2) | 0;

/** In how many bits two fingerprints differ, 0 to 128. */
export const bitsApart = (a: Lanes, b: Lanes): number =>
  bitsOf(a[0] ^ b[0]) + bitsOf(a[1] ^ b[1]) + bitsOf(a[2] ^ b[2]) + bitsOf(a[3] ^ b[3]);

/** How many bits of 32 are set. */
function bitsOf(bits: number): number {
  const pairs = bits - ((bits >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
