import type { TenantId } from "../catalog/corpus.ts";
import type { Config } from "../config/config.ts";
import { compileTenantPattern } from "../config/tenant-pattern.ts";
import type { OperatorDatabase } from "../db/database.ts";
import { recordCommand } from "../sql/audit.ts";
import * as statements from "../sql/operator.ts";
import { createTenant as insertTenant } from "../sql/tenants.ts";
import { Refusal } from "./refusal.ts";

export type { TenantRow } from "../sql/operator.ts";

/** Making and listing tenants, for the command line. */

/**
 * Makes a tenant.
 *
 * @returns false when it was there already, which is no error
 * @throws Refusal for an id that no token could carry: it must match `auth.tenantPattern`
 */
export async function createTenant(database: OperatorDatabase, config: Config, id: string): Promise<boolean> {
  const { tenantPattern } = config.auth;
  if (!compileTenantPattern(tenantPattern).test(id)) {
    throw new Refusal(
      "no token can carry this tenant id",
      `choose one that matches auth.tenantPattern: ${tenantPattern}`,
    );
  }
  const tenantId = id as TenantId;
  return await database.write(async (transaction) => {
    const created = await transaction.query(insertTenant(tenantId));
    if (created.length > 0) await transaction.query(recordCommand({ tenantId, action: "create-tenant" }));
    return created.length > 0;
  });
}

/** Every tenant with its counts, by id. */
export function listTenants(database: OperatorDatabase): Promise<readonly statements.TenantRow[]> {
  return database.read(statements.selectTenants());
}

/** @throws Refusal when there is no such tenant */
export async function findTenant(database: OperatorDatabase, id: string): Promise<TenantId> {
  const [tenantId] = await database.read(statements.selectTenant(id));
  if (tenantId === undefined) {
    throw new Refusal(
      "there is no such tenant",
      "pgrcp tenants list shows those there are; pgrcp tenants create makes one",
    );
  }
  return tenantId;
}
