import { isObject } from "../../protocol/params.ts";
import { compareUtf8 } from "../../protocol/text.ts";
import type { Hit } from "../../protocol/wire.ts";

/** One ranked list out of those of several engines (RCP §16.3). */

/** A hit of any engine: what pgrcp always gives, another server may leave out. */
export type EngineHit = Pick<Hit, "id" | "score"> & Partial<Hit> & { readonly content?: readonly unknown[] };

/** Where a fused hit stood in one engine's list, from 1, and its score there. Scores of two engines are on two scales. */
export interface EnginePlace {
  readonly engine: string;
  readonly rank: number;
  readonly score: number;
}

/** `score` is the fused one; all else is of the engine whose body was the richest. */
export type FederatedHit = Omit<EngineHit, "meta"> & {
  readonly meta: Readonly<Record<string, unknown>> & {
    /** The engine that the body, the citation and the trust are of. */
    readonly engine: string;
    readonly engineRank: number;
    readonly engineScore: number;
    /** Every engine that found it, in the registry's order. */
    readonly engines: readonly EnginePlace[];
  };
};

export type FederatedFusion = "rrf" | "convex";

export interface EngineAnswer {
  readonly engine: string;
  readonly weight: number;
  /** RCP §6.1: what the engine's scores never fall below; undefined where it does not say. */
  readonly scoreFloor: number | undefined;
  /** Best first. */
  readonly hits: readonly EngineHit[];
}

export interface FusionRequest {
  readonly method: FederatedFusion;
  readonly rrfK: number;
  readonly k: number;
  /** What makes two hits one document. */
  readonly documentKey: (hit: EngineHit, engine: string) => string;
}

export interface Fused {
  readonly hits: readonly FederatedHit[];
  /** Documents before the cut to k. */
  readonly candidates: number;
  /** What was done: `rrf` also where convex was asked for and an engine has no floor, or scores below it. */
  readonly method: FederatedFusion;
}

interface Found {
  readonly answer: EngineAnswer;
  readonly hit: EngineHit;
  readonly rank: number;
  readonly share: number;
}

/**
 * Fuses by reciprocal rank, Σ weight / (rrfK + rank), or as a convex combination, Σ weight / Σ weights · (score − floor) / (max − floor).
 *
 * @param answers in the registry's order, which decides whose body is kept among equally rich ones. Of each, k hits count, and of a
 *   document that stands in one list twice, the first
 * @returns each document once, best first; ties by the larger summed weight, then by id in UTF-8 order
 * @see RCP §16.3; Cormack, Clarke & Büttcher, SIGIR 2009; Bruch, Gai & Ingber, ACM TOIS 42(1), 2023
 */
export function fuseAnswers(answers: readonly EngineAnswer[], request: FusionRequest): Fused {
  const lists = answers.map((answer) => ({ ...answer, hits: answer.hits.slice(0, request.k) }));
  const method = request.method === "convex" && lists.every(keepsItsFloor) ? "convex" : "rrf";
  const weights = sum(lists.map(({ weight }) => weight));
  const documents = new Map<string, Found[]>();
  for (const answer of lists) {
    const norm = normaliser(answer);
    for (const [index, hit] of answer.hits.entries()) {
      const key = request.documentKey(hit, answer.engine);
      const found = documents.get(key) ?? [];
      if (found.some((before) => before.answer === answer)) continue;
      const rank = index + 1;
      const share = method === "rrf" ? 1 / (request.rrfK + rank) : norm(hit.score) / weights;
      documents.set(key, [...found, { answer, hit, rank, share: answer.weight * share }]);
    }
  }
  const fused = [...documents].map(([key, found]) => ({
    ...{ key, hit: merge(found) },
    weight: sum(found.map(({ answer }) => answer.weight)),
  }));
  fused.sort(
    (a, b) =>
      b.hit.score - a.hit.score || b.weight - a.weight || compareUtf8(a.hit.id, b.hit.id) || compareUtf8(a.key, b.key),
  );
  return { hits: fused.slice(0, request.k).map(({ hit }) => hit), candidates: fused.length, method };
}

/** A floor that scores fall below is none, and neither is one below scores that have no end. */
const keepsItsFloor = ({ scoreFloor, hits }: EngineAnswer): boolean =>
  scoreFloor !== undefined && hits.every(({ score }) => Number.isFinite(score) && score >= scoreFloor);

function normaliser({ scoreFloor = 0, hits }: EngineAnswer): (score: number) => number {
  const max = Math.max(scoreFloor, ...hits.map(({ score }) => score));
  return max > scoreFloor ? (score) => (score - scoreFloor) / (max - scoreFloor) : () => 0;
}

/** The smallest first: the same numbers have the same sum whichever engine each came from, and so a tie is one. */
const sum = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b).reduce((total, number) => total + number, 0);

/**
 * The richest hit, with the meta of the others where it has none. Whoever wrote a body is believed about that body alone, so citation
 * and trust go with it; that one engine suspects the document stays known.
 */
function merge(found: readonly Found[]): FederatedHit {
  const kept = found.reduce((best, one) => (isRicher(one.hit, best.hit) ? one : best));
  const { hit, rank, answer } = kept;
  const meta = Object.assign({}, ...[...found.toReversed(), kept].map((one) => ownMeta(one.hit)));
  const isSuspected = found.some((one) => one.hit.trust?.injectionSuspected === true);
  return {
    ...hit,
    score: sum(found.map(({ share }) => share)),
    ...(isSuspected && { trust: { level: "untrusted", ...hit.trust, injectionSuspected: true } }),
    meta: {
      ...meta,
      ...{ engine: answer.engine, engineRank: rank, engineScore: hit.score },
      engines: found.map((one) => ({ engine: one.answer.engine, rank: one.rank, score: one.hit.score })),
    },
  };
}

const isRicher = (a: EngineHit, b: EngineHit): boolean =>
  textLength(a) > textLength(b) || (textLength(a) === textLength(b) && blocks(a) > blocks(b));
const textLength = ({ text }: EngineHit): number => (typeof text === "string" ? text.length : 0);
const blocks = ({ content }: EngineHit): number => (Array.isArray(content) ? content.length : 0);
const ownMeta = ({ meta }: EngineHit): object => (isObject(meta) ? meta : {});
