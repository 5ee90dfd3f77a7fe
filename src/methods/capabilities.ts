import type { Principal } from "../auth/principal.ts";
import { type Advertised, advertise, type Capabilities } from "../catalog/advertise.ts";
import type { EmbeddingModel } from "../models/embedding.ts";
import type { Reranker } from "../models/reranker.ts";
import { advertisedFields } from "../plan/filter-fields.ts";
import { FILTER_OPERATORS } from "../plan/resolve-filter.ts";
import { VECTOR_ENCODINGS } from "../protocol/wire.ts";
import type { Services } from "./handler.ts";

/** What this server can do, whoever asks: its configuration and its models, as RCP §6 shows them. */
export function advertisedBy(
  services: Pick<Services, "config" | "offer" | "embedding" | "reranker" | "generator">,
): Advertised {
  const { config, offer, embedding, reranker, generator } = services;
  const { capabilities } = config;
  const { maxK, modes, fusion, units, defaultMode, fields, rerank, rewrite, mmr, tokenBudget, snapshots } =
    offer.retrieval;
  const filter = fields && { fields: advertisedFields(fields), operators: [...FILTER_OPERATORS] };
  return {
    retrieve: capabilities.retrieve
      ? {
          ...{ maxK, modes, fusion, units, defaultMode, filter, mmr, tokenBudget, snapshots },
          rerankBuiltin: rerank !== undefined,
          isRescored: rerank !== undefined || rewrite.length > 0,
          deterministic: capabilities.deterministic,
          pagination: offer.retrieval.pagination,
          trajectorySeconds: offer.retrieval.dedup ? config.retrieval.trajectories.idleTtlSeconds : undefined,
        }
      : undefined,
    streaming: capabilities.streaming,
    log: capabilities.log,
    embed: capabilities.embed ? embedCapability(embedding, config.limits.maxInputsPerEmbed) : undefined,
    rerank: capabilities.rerank ? reranker && rerankCapability(reranker) : undefined,
    transform:
      capabilities.transform && generator !== undefined ? { methods: capabilities.transformMethods } : undefined,
    feedback: capabilities.feedback,
    catalog: capabilities.catalog,
    index: capabilities.index ? { chunking: offer.add.chunking, contextual: offer.add.contextual } : undefined,
  };
}

const embedCapability = ({ space }: EmbeddingModel, batchLimit: number) =>
  ({ ...space, batchLimit, normalized: true, encodings: VECTOR_ENCODINGS, modalities: ["text"] }) as const;

const rerankCapability = ({ method, identity, maxCandidates }: Reranker) => ({
  methods: [method],
  maxCandidates,
  models: [identity],
});

/**
 * What a caller is offered, by whether its token may add; worked out once, since nothing of it changes while the server runs.
 *
 * @returns takes how many corpora the caller may read; what a method is gated by does not depend on it
 */
export function capabilitiesOf(services: Parameters<typeof advertisedBy>[0]) {
  const advertised = advertisedBy(services);
  const offered = { adders: advertise(advertised, true), others: advertise(advertised, false) };
  return (principal: Pick<Principal, "credentials">, engines = 0): Capabilities => {
    const { adders, others } = offered;
    const capabilities = principal.credentials.has("add") ? adders : others;
    return capabilities.catalog === undefined || engines === 0
      ? capabilities
      : { ...capabilities, catalog: { engines } };
  };
}
