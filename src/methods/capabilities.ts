import type { Principal } from "../auth/principal.ts";
import { type Advertised, advertise, type Capabilities } from "../catalog/advertise.ts";
import { advertisedFields } from "../plan/filter-fields.ts";
import { FILTER_OPERATORS } from "../plan/resolve-filter.ts";
import type { Services } from "./handler.ts";

/** What this server can do, whoever asks: its configuration, as RCP §6 shows it. */
export function advertisedBy({ config, offer }: Pick<Services, "config" | "offer">): Advertised {
  const { capabilities } = config;
  const { maxK, modes, fusion, units, defaultMode, fields, rerank, rewrite, mmr, tokenBudget, snapshots } = offer.retrieval;
  const filter = fields && { fields: advertisedFields(fields), operators: [...FILTER_OPERATORS] };
  return {
    retrieve: capabilities.retrieve
      ? {
          ...{ maxK, modes, fusion, units, defaultMode, filter, mmr, tokenBudget, snapshots },
          rerankBuiltin: rerank !== undefined,
          isRescored: rerank !== undefined || rewrite.length > 0,
          deterministic: capabilities.deterministic,
        }
      : undefined,
    index: capabilities.index ? { chunking: capabilities.chunking } : undefined,
  };
}

export const capabilitiesFor = (services: Services, principal: Principal): Capabilities =>
  advertise(advertisedBy(services), principal.credentials.has("add"));
