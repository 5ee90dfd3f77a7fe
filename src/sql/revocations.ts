import type { TenantId } from "../catalog/corpus.ts";
import type { CorpusKey } from "./documents.ts";
import { compile, noRows, type Statement, sql } from "./sql.ts";

/** What writers ask of revocations: which source may not write, and that a deleted document is not kept for a restore. */

/** One row when the source is revoked. */
export function selectRevocation(tenantId: TenantId, source: string): Statement<Date> {
  return compile(
    sql`select revoked_at from pgrcp.revoked_sources where tenant_id = ${tenantId} and source = ${source}`,
    (row) => row.revoked_at as Date,
  );
}

/** Takes what is kept of these documents out of every restore's reach. */
export function forgetRevoked(key: CorpusKey, docIds: readonly string[]): Statement {
  return compile(
    sql`delete from pgrcp.revoked_documents where tenant_id = ${key.tenantId} and corpus = ${key.corpus} and doc_id = any(${docIds}::text[])`,
    noRows,
  );
}
