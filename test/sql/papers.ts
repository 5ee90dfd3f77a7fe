import type { Corpus, CorpusName, TenantId } from "../../src/catalog/corpus.ts";

/** A tenant's corpus in the shared partition, of two dimensions. */
export const papersOf = (tenant: string): Corpus => ({
  tenantId: tenant as TenantId,
  name: "papers" as CorpusName,
  language: "english",
  space: { identity: "test@2", dimension: 2 },
  screening: "flag",
  placement: "shared",
});
