import type { TenantId } from "../catalog/corpus.ts";
import type { RepeatableWrite } from "../plan/idempotency-key.ts";
import { deleteExpired } from "./expired.ts";
import { compile, type Statement, sql } from "./sql.ts";

/** Whose a key is: keys of other callers, and of the caller's other credential, are other keys. */
export interface KeyOwner {
  readonly tenantId: TenantId;
  readonly issuer: string;
  readonly subject: string;
  readonly client: string;
  readonly credential: "add" | "delete";
}

/** What the first write with a key was asked for, and its result as JSON. */
export interface FirstResult {
  readonly requestHash: Uint8Array;
  readonly result: string;
}

/** A row when a write with this key has committed and was not forgotten since. */
export function findFirstResult(owner: KeyOwner, { keyHash }: RepeatableWrite): Statement<FirstResult> {
  return compile(
    sql`select request_hash, result from pgrcp.idempotency_keys where tenant_id = ${owner.tenantId} and issuer = ${owner.issuer} and subject = ${owner.subject} and client = ${owner.client} and credential = ${owner.credential} and key_hash = ${keyHash}::bytea`,
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
