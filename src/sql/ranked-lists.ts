import type { TenantId } from "../catalog/corpus.ts";
import { deleteExpired } from "./expired.ts";
import { compile, noRows, type Statement, sql } from "./sql.ts";
import type { StateOwner } from "./trajectories.ts";

/** The ranked list that a retrieve's first page found, for its next pages. */
export interface RankedList {
  /** The token of the version that it is of. */
  readonly indexVersion: string;
  /** Chunks that recall found. */
  readonly candidates: number;
  /** Its places, packed. */
  readonly entries: Uint8Array;
}

export function insertRankedList(
  { tenantId, ownerHash }: StateOwner,
  listId: Uint8Array,
  { indexVersion, candidates, entries }: RankedList,
  ttlSeconds: number,
): Statement {
  return compile(
    sql`insert into pgrcp_state.ranked_lists (tenant_id, list_id, owner_hash, index_version, candidates, entries, expires_at)
values (${tenantId}, ${listId}::bytea, ${ownerHash}::bytea, ${indexVersion}, ${candidates}::int, ${entries}::bytea, now() + make_interval(secs => ${ttlSeconds}::float8))`,
    noRows,
  );
}

/** A row for a live list, none for one that is unknown, expired or somebody else's. */
export function findRankedList({ tenantId, ownerHash }: StateOwner, listId: Uint8Array): Statement<RankedList> {
  return compile(
    sql`select index_version, candidates, entries from pgrcp_state.ranked_lists where tenant_id = ${tenantId} and owner_hash = ${ownerHash}::bytea and list_id = ${listId}::bytea and expires_at > now()`,
    (row) => ({
      indexVersion: row.index_version as string,
      candidates: row.candidates as number,
      entries: row.entries as Uint8Array,
    }),
  );
}

/** Drops an owner's lists beyond `most`, those first that expire first. */
export function dropRankedLists({ tenantId, ownerHash }: StateOwner, most: number): Statement {
  const ofOwner = sql`tenant_id = ${tenantId} and owner_hash = ${ownerHash}::bytea`;
  return compile(
    sql`delete from pgrcp_state.ranked_lists where ${ofOwner} and list_id in (select list_id from pgrcp_state.ranked_lists where ${ofOwner} order by expires_at desc, list_id offset ${most}::int)`,
    noRows,
  );
}

export const deleteExpiredRankedLists = (tenantId: TenantId | undefined): Statement =>
  deleteExpired(sql`pgrcp_state.ranked_lists`, tenantId);

/** Makes the key that signs a tenant's cursors; nothing happens when there is one. @param key 32 random bytes */
export function createCursorKey(tenantId: TenantId, key: Uint8Array): Statement {
  return compile(
    sql`insert into pgrcp_state.cursor_keys (tenant_id, key) values (${tenantId}, ${key}::bytea) on conflict (tenant_id) do nothing`,
    noRows,
  );
}

/** A row once the tenant's first cursor was made. */
export function findCursorKey(tenantId: TenantId): Statement<Uint8Array> {
  return compile(
    sql`select key from pgrcp_state.cursor_keys where tenant_id = ${tenantId}`,
    (row) => row.key as Uint8Array,
  );
}
