import type { TenantId } from "../catalog/corpus.ts";
import type { TenantTransaction } from "../db/database.ts";
import { payloadTooLarge } from "../protocol/errors.ts";
import { type Kept, lockQuotas, type Quotas, selectKept } from "../sql/quotas.ts";

const UNITS = { documents: "documents", textBytes: "bytes of text" } as const;

/**
 * Refuses an add that would take its tenant over a quota. What does not grow passes, also where a quota was lowered below what there is.
 * The transaction holds its corpus's lock; no other add of the tenant gets past this one until it has ended.
 *
 * @param quotas the tenant's own, or the configured ones
 * @param change what the add makes live, less what it replaces
 * @throws RpcError -32013 naming the quota and the room that is left
 */
export async function checkQuotas(
  transaction: TenantTransaction,
  tenantId: TenantId,
  quotas: Quotas,
  change: Kept,
): Promise<void> {
  if (quotas.documents === null && quotas.textBytes === null) return;
  // Two statements: the second sees what was committed while the first waited.
  const [, [kept = { documents: 0, textBytes: 0 }]] = await transaction.batch([
    lockQuotas(tenantId),
    selectKept(tenantId),
  ]);
  for (const name of ["documents", "textBytes"] as const) {
    const limit = quotas[name];
    if (limit === null || change[name] <= 0 || kept[name] + change[name] <= limit) continue;
    const room = Math.max(0, limit - kept[name]);
    throw payloadTooLarge({
      detail: `the tenant may keep ${limit} ${UNITS[name]} (quotas.${name}); there is room for ${room} more`,
    });
  }
}
