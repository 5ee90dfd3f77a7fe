import type { TenantId } from "../catalog/corpus.ts";
import { compile, noRows, type Sql, type Statement, sql } from "./sql.ts";

/**
 * Deletes a table's rows past their time.
 *
 * @param tenantId undefined for all tenants, which only the operator may
 */
export function deleteExpired(table: Sql, tenantId: TenantId | undefined): Statement {
  const whose = tenantId === undefined ? sql`` : sql`tenant_id = ${tenantId} and `;
  return compile(sql`delete from ${table} where ${whose}expires_at <= now()`, noRows);
}
