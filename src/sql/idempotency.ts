import type { TenantId } from "../catalog/corpus.ts";
import type { RepeatableWrite } from "../plan/idempotency-key.ts";
import { deleteExpired } from "./expired.ts";
import { compile, type Sql, type Statement, sql } from "./sql.ts";

/** Whose a key is: keys of other callers, and of the caller's other credential, are other keys. */
export interface KeyOwner {
  readonly tenantId: TenantId;
  readonly issuer: string;
  readonly subject: string;
  readonly client: string;
  readonly credential: "add" | "delete";
}

export interface KeyRoom {
  readonly isFull: boolean;
  readonly waitMs: number;
}

/** What the first write with a key was asked for, and its result as JSON. */
export interface FirstResult {
  readonly requestHash: Uint8Array;
  readonly result: string;
}

const of = ({ tenantId, issuer, subject, client, credential }: KeyOwner): Sql =>
  sql`tenant_id = ${tenantId} and issuer = ${issuer} and subject = ${subject} and client = ${client} and credential = ${credential}`;

/** One row: whether the owner has that many keys, and then the milliseconds until one of them expires. */
export function keyRoom(owner: KeyOwner, max: number): Statement<KeyRoom> {
  return compile(
    sql`select count(*) >= ${max}::bigint as is_full, coalesce(ceil(extract(epoch from min(expires_at) - now()) * 1000), 0)::bigint as wait_ms from pgrcp.idempotency_keys where ${of(owner)}`,
    (row) => ({ isFull: row.is_full as boolean, waitMs: row.wait_ms as number }),
  );
}

/** A row when a write with this key has committed and was not forgotten since. */
export function findFirstResult(owner: KeyOwner, { keyHash }: RepeatableWrite): Statement<FirstResult> {
  return compile(
    sql`select request_hash, result from pgrcp.idempotency_keys where ${of(owner)} and key_hash = ${keyHash}::bytea`,
    (row) => ({ requestHash: row.request_hash as Uint8Array, result: row.result as string }),
  );
}

/**
 * A row when this write is the first with its key; none when another one was. While another one is under way, waits for its end.
 */
export function insertFirstResult(
  owner: KeyOwner,
  { keyHash, requestHash }: RepeatableWrite,
  result: string,
  ttlSeconds: number,
): Statement<true> {
  return compile(
    sql`insert into pgrcp.idempotency_keys (tenant_id, issuer, subject, client, credential, key_hash, request_hash, result, expires_at)
values (${owner.tenantId}, ${owner.issuer}, ${owner.subject}, ${owner.client}, ${owner.credential}, ${keyHash}::bytea, ${requestHash}::bytea, ${result}, now() + make_interval(secs => ${ttlSeconds}::float8))
on conflict (tenant_id, issuer, subject, client, credential, key_hash) do nothing returning true as is_first`,
    () => true,
  );
}

export const deleteExpiredKeys = (tenantId: TenantId | undefined): Statement =>
  deleteExpired(sql`pgrcp.idempotency_keys`, tenantId);
