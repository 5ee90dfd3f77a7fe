import type { TenantId } from "../catalog/corpus.ts";
import type { Config } from "../config/config.ts";
import { compileTenantPattern } from "../config/tenant-pattern.ts";
import type { OperatorDatabase } from "../db/database.ts";
import { recordCommand } from "../sql/audit.ts";
import * as statements from "../sql/operator.ts";
import type { Quotas } from "../sql/quotas.ts";
import { createTenant as insertTenant } from "../sql/tenants.ts";
import { Refusal } from "./refusal.ts";

export type { TenantRow } from "../sql/operator.ts";

/** Making and listing tenants and setting their quotas, for the command line. */

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

/**
 * Gives a tenant quotas of its own, or those of the configuration again. What it has stays, also where it is over them.
 *
 * @param quotas null for those of the configuration
 * @throws Refusal when there is no such tenant
 */
export async function setQuotas(database: OperatorDatabase, id: string, quotas: Quotas | null): Promise<void> {
  const tenantId = await findTenant(database, id);
  await database.write(async (transaction) => {
    await transaction.query(statements.updateQuotas(tenantId, quotas));
    await transaction.query(recordCommand({ tenantId, action: "set-quotas", detail: quotasText(quotas) }));
  });
}

/** `documents 100, text bytes any`, for people. */
export function quotasText(quotas: Quotas | null): string {
  if (quotas === null) return "as configured";
  return `documents ${quotas.documents ?? "any"}, text bytes ${quotas.textBytes ?? "any"}`;
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
