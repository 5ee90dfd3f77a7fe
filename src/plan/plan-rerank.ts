import { optionUnsupported } from "../protocol/errors.ts";
import { type Params, readInteger, readString } from "../protocol/params.ts";
import type { RerankMethod } from "../protocol/wire.ts";
import { nameInUse, readTexts } from "./content-text.ts";
import { parseQuestion } from "./parse-query.ts";

export interface RerankLimits {
  readonly maxQueryBytes: number;
  readonly maxTextBytes: number;
}

/** The reranker that is there, as far as params may name it. */
export interface RerankOffer {
  readonly method: RerankMethod;
  readonly identity: string;
  readonly maxCandidates: number;
}

export interface RerankingPlan {
  /** Not blank. */
  readonly query: string;
  readonly passages: readonly string[];
  /** Of the passages, best first, how many are named; Infinity when the request does not say. */
  readonly topN: number;
}

/**
 * Reads rerank params (RCP §7.6). `documents` is another name for `passages` (DESIGN ruling 11).
 *
 * @throws RpcError -32602, -32005 for a method, model or modality that is not advertised, -32013 over a limit
 */
export function planReranking(params: Params, offer: RerankOffer, limits: RerankLimits): RerankingPlan {
  const query = parseQuestion(params, limits.maxQueryBytes);
  const topN = readInteger(params, "topN", { min: 1 }) ?? Number.POSITIVE_INFINITY;
  const method = readString(params, "method");
  const model = readString(params, "model");
  const passages = readTexts(params, nameInUse(params, "passages", "documents"), {
    maxTexts: offer.maxCandidates,
    setting: "models.reranker.maxCandidates",
    maxTextBytes: limits.maxTextBytes,
  });
  if (method !== undefined && method !== offer.method)
    throw optionUnsupported({ option: "method", detail: `the method on offer is ${offer.method}` });
  if (model !== undefined && model !== offer.identity)
    throw optionUnsupported({ option: "model", detail: "the one model on offer is that of rerank.models" });
  return { query, passages: passages.map((passage) => passage.replaceAll("\u0000", "\uFFFD")), topN };
}
