import type { Access, Database, StatementLimits, TenantTransaction } from "../db/database.ts";
import type { RepeatableWrite } from "../plan/idempotency-key.ts";
import { backendUnavailable, conflict, payloadTooLarge, rateLimited } from "../protocol/errors.ts";
import {
  deleteExpiredKeys,
  type FirstResult,
  findFirstResult,
  insertFirstResult,
  type KeyOwner,
  keyRoom,
} from "../sql/idempotency.ts";

/**
 * A write that is applied once, however often it is sent (RCP §7.10). Its result is kept in the transaction that writes: after a
 * crash there are both or neither.
 */
export interface OnceWrite {
  readonly owner: KeyOwner;
  readonly write: RepeatableWrite;
  readonly ttlSeconds: number;
  readonly maxResultBytes: number;
  /** Keys of one owner that are kept; writes that run at the same time may go beyond it. */
  readonly maxKeysPerPrincipal: number;
}

/**
 * The result of the same write, if it was applied before. Asked before the texts are embedded, so that a repeat costs no model
 * call; forgets the tenant's expired keys on the way.
 *
 * @throws RpcError -32016 when the key belongs to another request; -32011 when it is a new one and its owner has as many as allowed
 */
export async function findFirst<Result>(
  database: Database,
  access: Access,
  { owner, write, maxKeysPerPrincipal }: OnceWrite,
  limits: StatementLimits,
): Promise<Result | undefined> {
  const role = owner.credential === "add" ? "adder" : "deleter";
  const room = keyRoom(owner, maxKeysPerPrincipal);
  const statements = [deleteExpiredKeys(owner.tenantId), findFirstResult(owner, write), room] as const;
  const [, [first], [kept]] = await database.read(role, access, statements, limits);
  if (first !== undefined) return readFirst(first, write);
  if (kept?.isFull)
    throw rateLimited({
      retryAfterMs: kept.waitMs,
      detail: `a caller has at most ${maxKeysPerPrincipal} idempotency keys (idempotency.maxKeysPerPrincipal); send it without one or later`,
    });
  return undefined;
}

/**
 * Keeps the result of a write. Called in its transaction and before its first change: a repeat under way waits here until the
 * first one has committed or failed.
 *
 * @returns undefined when this write is the first and may go on; else the first one's result, and nothing may be written
 * @throws RpcError -32016 when the key belongs to another request, -32013 for a result too long to be kept
 */
export async function claimFirst<Result extends object>(
  transaction: TenantTransaction,
  { owner, write, ttlSeconds, maxResultBytes }: OnceWrite,
  result: Result,
): Promise<Result | undefined> {
  const text = JSON.stringify(result);
  if (Buffer.byteLength(text) > maxResultBytes)
    throw payloadTooLarge({
      detail: `the result of a write with an idempotency key is at most ${maxResultBytes} bytes (idempotency.maxResultBytes); send less at once`,
    });
  const [isFirst] = await transaction.query(insertFirstResult(owner, write, text, ttlSeconds));
  if (isFirst) return undefined;
  const [first] = await transaction.query(findFirstResult(owner, write));
  if (first === undefined)
    throw backendUnavailable({ retryable: true, detail: "the idempotency key expired at this moment; send it again" });
  return readFirst(first, write);
}

function readFirst<Result>({ requestHash, result }: FirstResult, write: RepeatableWrite): Result {
  if (Buffer.compare(requestHash, write.requestHash) !== 0)
    throw conflict("this idempotency key came with another request before; a new write needs a new key");
  return JSON.parse(result);
}
