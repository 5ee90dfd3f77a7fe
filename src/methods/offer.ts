import type { FilterFields } from "../catalog/corpus.ts";
import type { Config } from "../config/config.ts";
import { filterFields } from "../plan/filter-fields.ts";
import type { AddLimits } from "../plan/plan-add.ts";
import type { DeleteLimits } from "../plan/plan-delete.ts";
import type { RetrievalOffer } from "../plan/plan-retrieval.ts";

/** The configuration, sorted by who judges params with it. Worked out once at start. */
export interface Offer {
  readonly retrieval: RetrievalOffer;
  readonly add: { readonly chunking: boolean; readonly fields: FilterFields; readonly limits: AddLimits };
  readonly delete: DeleteLimits;
}

export function offerOf({ capabilities, filter, limits, retrieval }: Config): Offer {
  const fields = filterFields(filter.fields);
  return {
    retrieval: {
      modes: capabilities.modes,
      defaultMode: retrieval.defaultMode,
      fusion: capabilities.fusion,
      defaultFusion: retrieval.fusion,
      maxK: retrieval.maxK,
      defaultCandidateK: retrieval.defaultCandidateK,
      maxCandidateK: retrieval.maxCandidateK,
      fields: capabilities.filter ? fields : undefined,
      filterLimits: filter,
      maxQueryBytes: limits.maxQueryBytes,
      maxSessionIdBytes: limits.maxSessionIdBytes,
    },
    add: { chunking: capabilities.chunking, fields, limits },
    delete: limits,
  };
}
