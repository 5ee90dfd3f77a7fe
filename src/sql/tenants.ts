import type { TenantId } from "../catalog/corpus.ts";
import { compile, type Statement, sql } from "./sql.ts";

/** A row when the tenant is new, none when it was there. */
export function createTenant(tenantId: TenantId): Statement<TenantId> {
  return compile(
    sql`insert into pgrcp.tenants (tenant_id) values (${tenantId}) on conflict (tenant_id) do nothing returning tenant_id`,
    (row) => row.tenant_id as TenantId,
  );
}
