import type pg from "pg";
import type { TenantId } from "../src/catalog/corpus.ts";
import { type BatchStatement, runBatch } from "../src/db/batch.ts";
import { RolePool } from "../src/db/pools.ts";
import type { DatabaseRow } from "../src/db/row-parsers.ts";
import type { Statement } from "../src/sql/sql.ts";

const TIMEOUT_MS = 30_000;
const LIMITS = { size: 1, sizePerTenant: 1, waitMs: 0, connectTimeoutMs: 0, preparedStatements: true };

/** The server's own, which says how a batch begins and what its statements are called; it never connects. */
const pool = new RolePool("reader", {}, LIMITS, () => {});

/**
 * Sends statements on a bare connection as the server does for a tenant's reader: access first, each statement by a name, and plans kept
 * where all of them allow it. Rows are not decoded.
 *
 * @returns rows of each statement
 */
export async function readAs(
  client: pg.ClientBase,
  tenantId: TenantId,
  statements: readonly Statement<unknown>[],
): Promise<readonly (readonly DatabaseRow[])[]> {
  const isPlannedOnce = statements.every((statement) => statement.isPlannedOnce === true);
  const access = pool.preamble({ tenantId, credentials: new Set(["read"]) }, TIMEOUT_MS, isPlannedOnce);
  const named = statements.map(({ text, values }): BatchStatement => ({ text, values, name: pool.nameOf(text) }));
  const [, ...rows] = await runBatch(client, [access, ...named]);
  return rows;
}
