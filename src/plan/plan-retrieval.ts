import type { FilterFields } from "../catalog/corpus.ts";
import { invalidParams, optionUnsupported } from "../protocol/errors.ts";
import { checkIdentifier } from "../protocol/identifier.ts";
import {
  member,
  type Params,
  readBoolean,
  readInteger,
  readNumber,
  readObject,
  readString,
} from "../protocol/params.ts";
import { hasNul, isWellFormed } from "../protocol/text.ts";
import type { FusionMethod, RetrieveMode } from "../protocol/wire.ts";
import { NEIGHBOURS } from "./choose-path.ts";
import { parseQuery } from "./parse-query.ts";
import {
  clampRerank,
  type LeaveOut,
  planMmr,
  planRecency,
  planRerank,
  planRewrite,
  planTokenBudget,
  planUnit,
  refuseUnlessOffered,
  type StageOffer,
} from "./plan-stages.ts";
import { FILTER_OPERATORS, type FilterLimits, resolveFilter } from "./resolve-filter.ts";
import type { Fusion, RecallPlan, RetrievalPlan, Weights } from "./retrieval-plan.ts";

/** What this server offers and its caps, as far as planning needs them. */
export interface RetrievalOffer extends StageOffer {
  readonly modes: readonly RetrieveMode[];
  readonly defaultMode: RetrieveMode;
  readonly fusion: readonly FusionMethod[];
  readonly defaultFusion: { readonly method: FusionMethod; readonly alpha: number; readonly rrfK: number };
  readonly maxK: number;
  readonly defaultCandidateK: number;
  readonly maxCandidateK: number;
  readonly maxNearDuplicates: number;
  /** Undefined when filtering is switched off. */
  readonly fields: FilterFields | undefined;
  readonly filterLimits: FilterLimits;
  readonly maxQueryBytes: number;
  readonly maxSessionIdBytes: number;
  readonly maxHitCharacters: number;
  /** Versions can be asked for and are told. */
  readonly snapshots: boolean;
  readonly pagination: boolean;
  /** What a trajectory has seen is not shown again. */
  readonly dedup: boolean;
}

export const DEFAULT_K = 10;
const OPERATORS: ReadonlySet<string> = new Set(FILTER_OPERATORS);

/**
 * Turns retrieve params into a plan (RCP §7.7). Everything that can be refused is refused here.
 *
 * The funnel `candidateK ≥ rerank.topN ≥ k` is judged on the values sent and then clamped (DESIGN ruling 6). Under `strict: false`
 * an option that is not offered is left out and noted.
 *
 * @throws RpcError -32602 with `field`, -32005 with `option`, -32013 for a query over its limit
 */
export function planRetrieval(params: Params, offer: RetrievalOffer): RetrievalPlan {
  const strict = readBoolean(params, "strict") ?? true;
  const notes: string[] = [];
  const leaveOut = (option: string, detail: string): void => {
    if (strict) throw optionUnsupported({ option, detail });
    notes.push(`${option} was left out: ${detail}`);
  };

  const k = readInteger(params, "k", { min: 1 }) ?? DEFAULT_K;
  const candidateK = readInteger(params, "candidateK", { min: 1 });
  if (candidateK !== undefined && candidateK < k)
    throw invalidParams({ field: "candidateK", detail: "must be at least k: candidateK ≥ rerank.topN ≥ k" });
  const rerank = planRerank(params, { k, candidateK }, offer, leaveOut);
  const clampedK = Math.min(k, offer.maxK);
  const wanted = candidateK ?? Math.max(offer.defaultCandidateK, rerank?.topN ?? 0);
  const clampedCandidateK = Math.max(clampedK, Math.min(wanted, offer.maxCandidateK));
  refuseUnoffered(params, leaveOut);

  const plan = {
    query: parseQuery(params, offer.maxQueryBytes),
    rewrite: planRewrite(params, offer, leaveOut),
    recall: planRecall(params, offer, leaveOut),
    k: clampedK,
    candidateK: clampedCandidateK,
    maxCandidateK: offer.maxCandidateK,
    maxNearDuplicates: offer.maxNearDuplicates,
    filter: planFilter(params, offer, leaveOut),
    unit: planUnit(params, offer, leaveOut),
    rerank: clampRerank(rerank, clampedCandidateK),
    recency: planRecency(params, offer, offer.fields, leaveOut),
    minScore: readNumber(params, "minScore"),
    mmr: planMmr(params, offer, leaveOut),
    tokenBudget: planTokenBudget(params, offer, leaveOut),
    maxHitCharacters: offer.maxHitCharacters,
    includeText: readBoolean(params, "includeText") ?? true,
    includeVectors: readBoolean(params, "includeVectors") ?? false,
    seed: readInteger(params, "seed"),
    indexVersion: readVersion(params, offer),
    sessionId: readSessionId(params, offer),
    cursor: readCursor(params, offer),
    notes,
  };
  const isForPage = candidateK === undefined && isRecallAlone(plan);
  return {
    ...plan,
    firstCandidateK: isForPage ? Math.min(clampedCandidateK, pageCandidates(clampedK)) : clampedCandidateK,
  };
}

/** With room for near-duplicates that are left out, for a sign that there is a next page, and for telling how far to trust a graph. */
export const pageCandidates = (k: number): number => Math.max(Math.ceil(1.5 * k) + 5, NEIGHBOURS);

/** Whether hits are the chunks of one ranked list, from its first on. */
const isRecallAlone = ({
  recall,
  unit,
  rewrite,
  rerank,
  recency,
  mmr,
  sessionId,
  cursor,
}: Omit<RetrievalPlan, "firstCandidateK">): boolean =>
  recall.mode === "dense" &&
  unit === "chunk" &&
  [rewrite, rerank, recency, mmr, sessionId, cursor].every((one) => one === undefined);

/** Any string may be asked for; only one that no database can hold is malformed. */
function readVersion(params: Params, { snapshots }: RetrievalOffer): string | undefined {
  const token = readString(params, "indexVersion");
  refuseUnlessOffered(snapshots, "indexVersion", token);
  if (token !== undefined && (hasNul(token) || !isWellFormed(token)))
    throw invalidParams({ field: "indexVersion", detail: "must be well-formed Unicode without U+0000" });
  return token;
}

/** A hint: where trajectories are off it is checked and otherwise ignored (RCP §7.7.3). */
function readSessionId(params: Params, { dedup, maxSessionIdBytes }: RetrievalOffer): string | undefined {
  const value = member(params, "sessionId");
  if (value === undefined) return undefined;
  const sessionId = checkIdentifier(value, "sessionId", maxSessionIdBytes, "limits.maxSessionIdBytes");
  return dedup ? sessionId : undefined;
}

/** Whether a cursor is one of ours is for who can check its signature; an empty one never is. */
function readCursor(params: Params, { pagination }: RetrievalOffer): string | undefined {
  const cursor = readString(params, "cursor");
  refuseUnlessOffered(pagination, "cursor", cursor);
  if (cursor === "") throw invalidParams({ field: "cursor", detail: "must be a nextCursor of this server" });
  return cursor;
}

function planRecall(params: Params, offer: RetrievalOffer, leaveOut: LeaveOut): RecallPlan {
  const asked = readString(params, "mode");
  const offered = offer.modes.find((one) => one === asked);
  if (asked !== undefined && offered === undefined)
    leaveOut("mode", `the modes on offer are ${offer.modes.join(", ")}`);
  const mode = offered ?? offer.defaultMode;
  const fusion = planFusion(params, offer, leaveOut);
  return mode === "hybrid" ? { mode, fusion } : { mode };
}

function planFusion(params: Params, offer: RetrievalOffer, leaveOut: LeaveOut): Fusion {
  const { defaultFusion } = offer;
  const asked = readObject(params, "fusion") ?? {};
  const name = readString(asked, "method", "fusion");
  const offered = offer.fusion.find((one) => one === name);
  if (name !== undefined && offered === undefined)
    leaveOut("fusion.method", `the fusion methods on offer are ${offer.fusion.join(", ")}`);
  const method = offered ?? defaultFusion.method;
  const rrfK = readInteger(asked, "rrfK", { min: 0 }, "fusion") ?? defaultFusion.rrfK;
  const alpha = readNumber(asked, "alpha", { min: 0, max: 1 }, "fusion") ?? defaultFusion.alpha;
  const weights = readWeights(asked);
  switch (method) {
    case "rrf":
      return { method, rrfK, weights };
    case "weighted":
      return { method, weights };
    case "convex":
      return { method, alpha };
  }
}

/** Both lists weigh alike unless told otherwise. */
function readWeights(fusion: Params): Weights {
  const asked = readObject(fusion, "weights", "fusion");
  if (asked === undefined) return { dense: 1, sparse: 1 };
  const weight = (name: "dense" | "sparse") => readNumber(asked, name, { min: 0, max: 1e6 }, "fusion.weights") ?? 0;
  const weights = { dense: weight("dense"), sparse: weight("sparse") };
  if (weights.dense === 0 && weights.sparse === 0)
    throw invalidParams({ field: "fusion.weights", detail: "dense or sparse must be above 0" });
  return weights;
}

function planFilter(params: Params, offer: RetrievalOffer, leaveOut: LeaveOut): RetrievalPlan["filter"] {
  if (offer.fields !== undefined)
    return resolveFilter(member(params, "filter"), offer.fields, OPERATORS, offer.filterLimits);
  if (member(params, "filter") !== undefined) leaveOut("filter", "filtering is not advertised");
  return undefined;
}

/** Options of RCP §7.7 that this server never offers. Wrong shapes are refused first. */
function refuseUnoffered(params: Params, leaveOut: LeaveOut): void {
  const modality = readString(params, "modality");
  if (modality !== undefined && modality !== "text") leaveOut("modality", "only text is offered");
  if (readInteger(params, "level", { min: 0 }) !== undefined) leaveOut("level", "the corpus is flat");
}
