import type { OperatorDatabase } from "../db/database.ts";
import { type AuditRow, selectAudit } from "../sql/audit.ts";
import { findTenant } from "./tenants.ts";

export type { AuditRow } from "../sql/audit.ts";

const BATCH = 1_000;

/**
 * Who did what with a tenant since then, oldest first. Callers can be refused for a tenant that was never made.
 *
 * @param since RFC 3339
 * @throws Refusal when nothing is recorded and there is no such tenant
 */
export async function* listAudit(database: OperatorDatabase, tenant: string, since: string): AsyncIterable<AuditRow> {
  let found = false;
  for await (const rows of database.stream(selectAudit(tenant, since), BATCH)) {
    found = true;
    yield* rows;
  }
  if (!found) await findTenant(database, tenant);
}
