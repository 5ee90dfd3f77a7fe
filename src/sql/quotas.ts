import type { TenantId } from "../catalog/corpus.ts";
import { compile, noRows, type Statement, sql } from "./sql.ts";

/** What a tenant may keep live, over all its corpora; null = no limit. */
export interface Quotas {
  readonly documents: number | null;
  /** Of documents' texts, in UTF-8. */
  readonly textBytes: number | null;
}

/** One row when the tenant has quotas of its own. */
export function selectOwnQuotas(tenantId: TenantId): Statement<Quotas> {
  return compile(
    sql`select max_documents, max_text_bytes from pgrcp.tenants where tenant_id = ${tenantId} and own_quotas`,
    (row) => ({ documents: row.max_documents as number | null, textBytes: row.max_text_bytes as number | null }),
  );
}

/** Puts the tenant's adds one behind the other, whatever their corpora. New corpora, which refer to the row, do not wait. */
export function lockQuotas(tenantId: TenantId): Statement {
  return compile(sql`select from pgrcp.tenants where tenant_id = ${tenantId} for no key update`, noRows);
}

export interface Kept {
  readonly documents: number;
  readonly textBytes: number;
}

/** One row: what the tenant has live. */
export function selectKept(tenantId: TenantId): Statement<Kept> {
  return compile(
    sql`select coalesce(sum(live_documents), 0)::bigint as documents, coalesce(sum(live_text_bytes), 0)::bigint as text_bytes from pgrcp.corpora where tenant_id = ${tenantId}`,
    (row) => ({ documents: row.documents as number, textBytes: row.text_bytes as number }),
  );
}
