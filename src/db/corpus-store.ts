import type { Corpus, CorpusName, TenantId } from "../catalog/corpus.ts";
import type { StatementLimits } from "./database.ts";

/** Looks corpora up by tenant and name and keeps what does not change with a write. */
export interface CorpusStore {
  /** Undefined when the tenant has no such corpus. Absence is never cached. */
  find(tenantId: TenantId, name: CorpusName, limits: StatementLimits): Promise<Corpus | undefined>;
  /** Drops what is kept for a tenant, after a corpus was made or moved. */
  forget(tenantId: TenantId): void;
}
