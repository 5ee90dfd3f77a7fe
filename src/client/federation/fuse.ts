import type { EngineHit } from "./engine-hit.ts";

/** One engine's answer, best first. */
export interface EngineList {
  readonly engine: string;
  readonly weight: number;
  readonly hits: readonly EngineHit[];
  /** What its scores cannot go below, if it says so (RCP §6.1). */
  readonly scoreFloor: number | undefined;
}

export type FusionName = "rrf" | "convex";

/** `meta` says which engine the body is of, and the hit's rank and score there. */
export interface FusedHit extends EngineHit {
  readonly meta: Readonly<Record<string, unknown>> & {
    readonly engine: string;
    readonly engineRank: number;
    readonly engineScore: number;
  };
}

/** By which hits are known to be of one document (RCP §16.3). */
export type DocumentKey = (hit: EngineHit, engine: string) => string;

/** RCP §16.3. */
const DEFAULT_RRF_K = 60;

export interface FuseOptions {
  readonly rrfK?: number | undefined;
  /** The id when absent. */
  readonly documentKey?: DocumentKey | undefined;
}

/** Convex needs the floor of every list; without one of them it is RRF, which needs none (RCP §16.3). */
export const fusionFor = (wanted: FusionName, lists: readonly EngineList[]): FusionName =>
  lists.every(({ scoreFloor }) => scoreFloor !== undefined) ? wanted : "rrf";

/**
 * Fuses the lists of several engines into one.
 *
 * RRF: Σ weight / (rrfK + rank). Convex: Σ weight · (score − floor) / (best − floor), weights summing to 1. Of several bodies of a document the longest text is shown with its own trust and citation, and has the others' meta beneath its own.
 *
 * @returns each document once, best first; ties go to the larger summed weight, then the smaller key
 * @see RCP §16.3; Cormack, Clarke & Büttcher, SIGIR 2009; Bruch et al., ACM TOIS 42(1), 2023
 */
export function fuseLists(
  lists: readonly EngineList[],
  fusion: FusionName,
  { rrfK = DEFAULT_RRF_K, documentKey = ({ id }) => id }: FuseOptions = {},
): FusedHit[] {
  const fused = new Map<string, Fused>();
  const totalWeight = lists.reduce((sum, { weight }) => sum + weight, 0);
  for (const list of lists) {
    const best = Math.max(...list.hits.map(({ score }) => score));
    const seen = new Set<string>();
    for (const [index, hit] of list.hits.entries()) {
      const key = documentKey(hit, list.engine);
      if (seen.has(key)) continue;
      seen.add(key);
      const share =
        fusion === "rrf" ? list.weight / (rrfK + index + 1) : (list.weight / totalWeight) * aboveFloor(hit, list, best);
      const before = fused.get(key) ?? { score: 0, weight: 0, bodies: [] };
      const body = { hit, engine: list.engine, rank: index + 1 };
      fused.set(key, {
        score: before.score + share,
        weight: before.weight + list.weight,
        bodies: [...before.bodies, body],
      });
    }
  }
  return [...fused]
    .sort(([keyA, a], [keyB, b]) => b.score - a.score || b.weight - a.weight || (keyA < keyB ? -1 : 1))
    .map(([, { score, bodies }]) => merge(bodies, score));
}

interface Body {
  readonly hit: EngineHit;
  readonly engine: string;
  readonly rank: number;
}

interface Fused {
  readonly score: number;
  readonly weight: number;
  readonly bodies: readonly Body[];
}

/** From 0 at the floor to 1 at the best score; an engine that goes below its own floor gains nothing by it. */
function aboveFloor({ score }: EngineHit, { scoreFloor = 0 }: EngineList, best: number): number {
  return best > scoreFloor ? Math.max(0, (score - scoreFloor) / (best - scoreFloor)) : 0;
}

/** Trust and citation stay with the text that they are of: another engine's word for the same id is not one for this text. */
function merge(bodies: readonly Body[], score: number): FusedHit {
  const [first, ...rest] = bodies.toSorted((a, b) => (b.hit.text?.length ?? -1) - (a.hit.text?.length ?? -1));
  if (first === undefined) throw new Error("a document was found by nobody");
  const { hit, engine, rank } = first;
  const others = Object.assign({}, ...rest.toReversed().map((body) => ({ ...body.hit.meta })));
  const meta = { ...others, ...hit.meta, engine, engineRank: rank, engineScore: hit.score };
  return { ...hit, score, meta };
}
