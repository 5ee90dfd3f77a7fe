import type { Corpus, CorpusName, TenantId } from "../catalog/corpus.ts";
import type { Access, DatabaseRole, StatementLimits } from "./database.ts";

/** The roles that see corpora. */
export type CorpusRole = Exclude<DatabaseRole, "state">;

/** Looks corpora up by tenant and name and keeps what does not change with a write. */
export interface CorpusStore {
  /**
   * Undefined when the tenant has no such corpus. Absence is never cached.
   *
   * @param role the one that does the rest of the call's work: a write must not wait for a reader's connection
   */
  find(role: CorpusRole, access: Access, name: CorpusName, limits: StatementLimits): Promise<Corpus | undefined>;
  /** Drops what is kept for a tenant, after a corpus was made or moved. */
  forget(tenantId: TenantId): void;
}
