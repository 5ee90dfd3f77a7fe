import type { Config } from "../config/config.ts";
import { filterFields } from "../plan/filter-fields.ts";
import type { AddOffer } from "../plan/plan-add.ts";
import type { DeleteLimits } from "../plan/plan-delete.ts";
import type { EmbedLimits } from "../plan/plan-embed.ts";
import type { FeedbackLimits } from "../plan/plan-feedback.ts";
import type { RerankLimits } from "../plan/plan-rerank.ts";
import type { RetrievalOffer } from "../plan/plan-retrieval.ts";
import type { TransformOffer } from "../plan/plan-transform.ts";
import type { Services } from "./handler.ts";

/** The configuration, sorted by who judges params with it. Worked out once at start. */
export interface Offer {
  readonly retrieval: RetrievalOffer;
  readonly add: AddOffer;
  readonly delete: DeleteLimits;
  readonly feedback: FeedbackLimits;
  readonly embed: EmbedLimits;
  readonly rerank: RerankLimits;
  readonly transform: TransformOffer;
  readonly document: { readonly maxDocIdBytes: number };
}

/** @param models what is configured beside the embedding model; nothing that needs one is on offer without it */
export function offerOf(
  { capabilities, fetch, filter, limits, retrieval }: Config,
  { reranker, generator }: Partial<Pick<Services, "reranker" | "generator">> = {},
): Offer {
  const fields = filterFields(filter.fields);
  const reranks = capabilities.rerankBuiltin ? reranker : undefined;
  const writes = capabilities.transform && generator !== undefined;
  return {
    retrieval: {
      modes: capabilities.modes,
      defaultMode: retrieval.defaultMode,
      fusion: capabilities.fusion,
      defaultFusion: retrieval.fusion,
      maxK: retrieval.maxK,
      defaultCandidateK: retrieval.defaultCandidateK,
      maxCandidateK: retrieval.maxCandidateK,
      maxNearDuplicates: retrieval.maxNearDuplicates,
      fields: capabilities.filter ? fields : undefined,
      filterLimits: filter,
      maxQueryBytes: limits.maxQueryBytes,
      maxSessionIdBytes: limits.maxSessionIdBytes,
      maxHitCharacters: limits.maxHitCharacters,
      rerank: reranks && { method: reranks.method, model: reranks.identity, maxCandidates: reranks.maxCandidates },
      rewrite: capabilities.rewrite && writes ? capabilities.transformMethods : [],
      mmr: capabilities.mmr,
      recency: capabilities.recency,
      units: capabilities.units,
      tokenBudget: capabilities.tokenBudget,
      snapshots: capabilities.snapshots,
      pagination: capabilities.pagination,
      dedup: capabilities.session,
    },
    add: {
      chunking: capabilities.chunking,
      contextual: capabilities.contextual && generator !== undefined,
      fetch: fetch.enabled ? fetch : undefined,
      fields,
      limits,
    },
    delete: limits,
    feedback: limits,
    embed: limits,
    rerank: limits,
    transform: { ...limits, methods: capabilities.transformMethods },
    document: limits,
  };
}
