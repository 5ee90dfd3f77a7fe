import type { TenantId } from "../catalog/corpus.ts";
import { compile, type Statement, sql } from "./sql.ts";

/** A row when the tenant is new, none when it was there. */
export function createTenant(tenantId: TenantId): Statement<TenantId> {
  return compile(
    sql`insert into pgrcp.tenants (tenant_id) values (${tenantId}) on conflict (tenant_id) do nothing returning tenant_id`,
    (row) => row.tenant_id as TenantId,
  );
}

export interface TenantSummary {
  readonly tenantId: TenantId;
  readonly createdAt: Date;
  readonly corpora: number;
  /** Live ones, in all corpora. */
  readonly documents: number;
  readonly chunks: number;
}

/** Every tenant with what it holds, by id. For the operator: nobody else sees more than one. */
export function listTenants(): Statement<TenantSummary> {
  return compile(
    sql`select t.tenant_id, t.created_at, count(c.corpus) as corpora, coalesce(sum(c.live_documents), 0)::bigint as documents, coalesce(sum(c.live_chunks), 0)::bigint as chunks
from pgrcp.tenants t left join pgrcp.corpora c on c.tenant_id = t.tenant_id
group by t.tenant_id order by t.tenant_id`,
    (row) => ({
      tenantId: row.tenant_id as TenantId,
      createdAt: row.created_at as Date,
      corpora: row.corpora as number,
      documents: row.documents as number,
      chunks: row.chunks as number,
    }),
  );
}
