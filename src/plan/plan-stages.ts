import type { FilterFields } from "../catalog/corpus.ts";
import { invalidParams, optionUnsupported } from "../protocol/errors.ts";
import { member, type Params, readInteger, readNumber, readObject, readString } from "../protocol/params.ts";
import type { RerankMethod, TransformMethod, Unit } from "../protocol/wire.ts";
import type { Recency, RerankPlan } from "./retrieval-plan.ts";

/**
 * The stages of a retrieve beyond recall (RCP §7.7): each reader gives the stage's plan, or undefined when it was not asked for or
 * was left out. A wrong shape is refused first, offered or not.
 */

/** What of these stages is on offer. */
export interface StageOffer {
  /** Undefined when no reranker is configured, or reranking within a retrieve is switched off. */
  readonly rerank:
    | { readonly method: RerankMethod; readonly model: string; readonly maxCandidates: number }
    | undefined;
  /** Empty when no text generator is configured. */
  readonly rewrite: readonly TransformMethod[];
  readonly mmr: boolean;
  readonly recency: boolean;
  readonly units: readonly Unit[];
  readonly tokenBudget: boolean;
}

/** Refuses an option that is not on offer, or notes it under `strict: false`. */
export type LeaveOut = (option: string, detail: string) => void;

/** The funnel as it was sent: an absent `k` is its default, an absent `candidateK` binds nothing. */
export interface SentFunnel {
  readonly k: number;
  readonly candidateK: number | undefined;
}

/** `topN` is as sent; whoever knows the other sizes clamps it. */
export function planRerank(
  params: Params,
  { k, candidateK }: SentFunnel,
  { rerank }: StageOffer,
  leaveOut: LeaveOut,
): { readonly topN: number | undefined; readonly maxCandidates: number } | undefined {
  const value = member(params, "rerank");
  if (value === undefined || value === false) return undefined;
  const asked = readObject(params, "rerank") ?? {};
  const method = readString(asked, "method", "rerank");
  const model = readString(asked, "model", "rerank");
  const topN = readInteger(asked, "topN", { min: 1 }, "rerank");
  const funnel = "candidateK ≥ rerank.topN ≥ k";
  if (topN !== undefined && topN < k)
    throw invalidParams({ field: "rerank.topN", detail: `must be at least k: ${funnel}` });
  if (topN !== undefined && candidateK !== undefined && topN > candidateK)
    throw invalidParams({ field: "rerank.topN", detail: `must be at most candidateK: ${funnel}` });
  if (rerank === undefined) leaveOut("rerank", "rerank is not advertised");
  else if (method !== undefined && method !== rerank.method)
    leaveOut("rerank.method", `the method on offer is ${rerank.method}`);
  else if (model !== undefined && model !== rerank.model) leaveOut("rerank.model", "there is one model, the default");
  else return { topN, maxCandidates: rerank.maxCandidates };
  return undefined;
}

/** As many as the reranker takes, where the request names no number. */
export function clampRerank(asked: ReturnType<typeof planRerank>, candidateK: number): RerankPlan | undefined {
  return asked && { topN: Math.min(asked.topN ?? candidateK, candidateK, asked.maxCandidates) };
}

export function planRewrite(params: Params, { rewrite }: StageOffer, leaveOut: LeaveOut): TransformMethod | undefined {
  const value = member(params, "rewrite");
  if (value === undefined || value === false) return undefined;
  if (typeof value !== "string")
    throw invalidParams({ field: "rewrite", detail: "must be the name of a method, or false" });
  const offered = rewrite.find((one) => one === value);
  if (offered === undefined)
    leaveOut(
      "rewrite",
      rewrite.length === 0 ? "rewrite is not advertised" : `the methods on offer are ${rewrite.join(", ")}`,
    );
  return offered;
}

const DEFAULT_LAMBDA = 0.5;

export function planMmr(
  params: Params,
  { mmr }: StageOffer,
  leaveOut: LeaveOut,
): { readonly lambda: number } | undefined {
  const asked = readObject(params, "mmr");
  if (asked === undefined) return undefined;
  const lambda = readNumber(asked, "lambda", { min: 0, max: 1 }, "mmr") ?? DEFAULT_LAMBDA;
  if (mmr) return { lambda };
  leaveOut("mmr", "mmr is not advertised");
  return undefined;
}

const DEFAULT_HALF_LIFE_DAYS = 30;
/** From a minute and a half to beyond all dates: an age in half-lives stays a number that 2 can be raised to. */
const HALF_LIFE_RANGE = { min: 0.001, max: 1_000_000 };

/** @throws RpcError -32602 naming `recency.field` unless it is an advertised field with one date */
export function planRecency(
  params: Params,
  { recency }: StageOffer,
  fields: FilterFields | undefined,
  leaveOut: LeaveOut,
): Recency | undefined {
  const asked = readObject(params, "recency");
  if (asked === undefined) return undefined;
  const name = readString(asked, "field", "recency");
  const halfLifeDays = readNumber(asked, "halfLifeDays", HALF_LIFE_RANGE, "recency") ?? DEFAULT_HALF_LIFE_DAYS;
  if (!recency || fields === undefined) {
    leaveOut("recency", "recency is not advertised");
    return undefined;
  }
  const field = name === undefined ? undefined : fields.get(name);
  if (field?.type !== "date" || field.array)
    throw invalidParams({
      field: "recency.field",
      detail: "must name an advertised filter field of type date, not a list",
    });
  return { field, halfLifeDays };
}

export function planUnit(params: Params, { units }: StageOffer, leaveOut: LeaveOut): Unit {
  const asked = readString(params, "unit");
  const offered = units.find((one) => one === asked);
  if (asked !== undefined && offered === undefined) leaveOut("unit", `the units on offer are ${units.join(", ")}`);
  return offered ?? units[0] ?? "chunk";
}

export function planTokenBudget(params: Params, { tokenBudget }: StageOffer, leaveOut: LeaveOut): number | undefined {
  const asked = readInteger(params, "tokenBudget", { min: 1 });
  if (asked === undefined || tokenBudget) return asked;
  leaveOut("tokenBudget", "tokenBudget is not advertised");
  return undefined;
}

/** Options that no fallback can stand in for: without its cursor a page would be the first one again, without its pin another state. */
export function refuseUnlessOffered(isOffered: boolean, option: string, value: unknown): void {
  if (value !== undefined && !isOffered) throw optionUnsupported({ option, detail: `${option} is not advertised` });
}
