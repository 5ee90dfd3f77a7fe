import { planReranking } from "../plan/plan-rerank.ts";
import { capabilityMissing } from "../protocol/errors.ts";
import type { Handler } from "./handler.ts";

/**
 * RCP §7.6, and `results` besides (DESIGN ruling 11): `scores` has one for each passage, `order` and `results` name the best
 * `topN`, best first; passages of one score stay in their order.
 */
export const rerank: Handler = async (params, call, { reranker, offer }) => {
  if (reranker === undefined) throw capabilityMissing("rerank");
  const { query, passages, topN } = planReranking(params, reranker, offer.rerank);
  const startedAt = performance.now();
  call.report?.({ progress: 0, stage: "rerank", message: `scoring ${passages.length} passages` });
  const scores = await reranker.score(query, passages, call.signal, call.principal.tenantId);
  const results = scores
    .map((score, index) => ({ index, score }))
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, topN);
  return {
    scores,
    order: results.map(({ index }) => index),
    results,
    usage: {
      candidates: passages.length,
      reranked: passages.length,
      latencyMs: Math.round(performance.now() - startedAt),
      strategy: { method: reranker.method, model: reranker.identity },
    },
  };
};
