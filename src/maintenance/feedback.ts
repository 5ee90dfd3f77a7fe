import type { OperatorDatabase } from "../db/database.ts";
import * as statements from "../sql/operator.ts";
import { findTenant } from "./tenants.ts";

export type { FeedbackRow } from "../sql/operator.ts";

/**
 * What a tenant's callers say of its hits, the most suspected first. A caller has one vote on a hit, however often it speaks.
 *
 * @throws Refusal when there is no such tenant
 */
export async function listFeedback(
  database: OperatorDatabase,
  tenant: string,
  limit: number,
): Promise<readonly statements.FeedbackRow[]> {
  return await database.read(statements.selectFeedback(await findTenant(database, tenant), limit));
}
