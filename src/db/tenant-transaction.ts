import { setTimeout as sleep } from "node:timers/promises";
import { timeout } from "../protocol/errors.ts";
import type { Statement } from "../sql/sql.ts";
import { type BatchStatement, runBatch } from "./batch.ts";
import type { Access, RowsOf, StatementLimits, TenantTransaction } from "./database.ts";
import type { Lease, LeaseSource } from "./lease.ts";
import { orAborted } from "./or-aborted.ts";
import { endsConnection, isSerializationFailure, toRpcError } from "./pg-errors.ts";

/** How often a transaction that met another one is run in all. */
const ATTEMPTS = 4;

export interface ReadOptions<Row> {
  /** How often it is run in all. */
  readonly attempts?: number;
  /** Runs before the others and ends them all where it fails. */
  readonly first?: { readonly statement: Statement<Row>; readonly tell: (rows: readonly Row[]) => void };
}

/** Not "read write": a replica refuses that as a feature it does not have, and a write by a code that says what is wrong. */
const BEGIN: BatchStatement = { text: "begin isolation level read committed", values: [] };
const COMMIT: BatchStatement = { text: "commit", values: [] };
const ROLLBACK: BatchStatement = { text: "rollback", values: [] };

/** Limits as one signal: the caller's own, or -32014 when the time is up. */
function withDeadline(limits: StatementLimits | undefined): { signal: AbortSignal; timeoutMs?: number; done(): void } {
  if (limits === undefined) return { signal: new AbortController().signal, done() {} };
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(timeout()), Math.max(0, limits.timeoutMs));
  const abort = () => controller.abort(limits.signal.reason);
  if (limits.signal.aborted) abort();
  else limits.signal.addEventListener("abort", abort, { once: true });
  return {
    signal: controller.signal,
    timeoutMs: Math.max(1, Math.ceil(limits.timeoutMs)),
    done() {
      clearTimeout(timer);
      limits.signal.removeEventListener("abort", abort);
    },
  };
}

const named = (source: LeaseSource, { text, values }: Statement<unknown>): BatchStatement => ({
  text,
  values,
  name: source.nameOf(text),
});

/** What to do with a connection on which a batch has failed and settled. */
function putBack(lease: Lease, error: unknown): void {
  if (endsConnection(error) || lease.client.getTransactionStatus() !== "I") lease.abandon();
  else lease.release();
}

/**
 * Runs a transaction within its limits. One that met another (deadlock, serialization failure) is run again: nothing of it was
 * committed, and nothing has left it.
 */
async function runTransaction<Result>(
  limits: StatementLimits | undefined,
  attempt: (signal: AbortSignal, timeoutMs: number | undefined) => Promise<Result>,
  most: number = ATTEMPTS,
): Promise<Result> {
  const { signal, timeoutMs, done } = withDeadline(limits);
  try {
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await attempt(signal, timeoutMs);
      } catch (error) {
        if (signal.aborted || attempts >= most || !isSerializationFailure(error)) throw error;
        await orAborted(sleep(Math.random() * 20 * 2 ** attempts), signal);
      }
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : toRpcError(error);
  } finally {
    done();
  }
}

/**
 * Runs statements in one batch: one implicit transaction that sets its tenant itself.
 *
 * @param access undefined for the operator, who works across tenants
 */
export function readInBatch<const Statements extends readonly Statement<unknown>[], First = never>(
  source: LeaseSource,
  access: Access | undefined,
  statements: Statements,
  limits?: StatementLimits,
  { attempts, first }: ReadOptions<First> = {},
): Promise<RowsOf<Statements>> {
  const isPlannedOnce = [...statements, ...(first === undefined ? [] : [first.statement])].every(
    (statement) => statement.isPlannedOnce === true,
  );
  return runTransaction(
    limits,
    (signal, timeoutMs) =>
      readOnce(source, access, source.preamble(access, timeoutMs, isPlannedOnce), first, statements, signal),
    attempts,
  );
}

async function readOnce<const Statements extends readonly Statement<unknown>[], First>(
  source: LeaseSource,
  access: Access | undefined,
  preamble: BatchStatement,
  first: ReadOptions<First>["first"],
  statements: Statements,
  signal: AbortSignal,
): Promise<RowsOf<Statements>> {
  const lease = await source.acquire(signal, access?.tenantId);
  const before = first === undefined ? [preamble] : [preamble, named(source, first.statement)];
  const running = runBatch(lease.client, [...before, ...statements.map((statement) => named(source, statement))]);
  let rows: Awaited<typeof running>;
  try {
    rows = await orAborted(running, signal);
  } catch (error) {
    if (signal.aborted) lease.abandon(running);
    else putBack(lease, error);
    throw error;
  }
  lease.release();
  first?.tell((rows[1] ?? []).map(first.statement.decode));
  return decodeRows(statements, rows.slice(before.length));
}

const decodeRows = <const Statements extends readonly Statement<unknown>[]>(
  statements: Statements,
  rows: Awaited<ReturnType<typeof runBatch>>,
): RowsOf<Statements> =>
  statements.map((statement, index) => (rows[index] ?? []).map(statement.decode)) as RowsOf<Statements>;

/**
 * Runs `work` between BEGIN and COMMIT, more than once where it meets other writes.
 *
 * @param access undefined for the operator
 */
export function writeInTransaction<Result>(
  source: LeaseSource,
  access: Access | undefined,
  work: (transaction: TenantTransaction) => Promise<Result>,
  limits?: StatementLimits,
): Promise<Result> {
  return runTransaction(limits, (signal, timeoutMs) =>
    writeOnce(source, access, source.preamble(access, timeoutMs), work, signal),
  );
}

async function writeOnce<Result>(
  source: LeaseSource,
  access: Access | undefined,
  preamble: BatchStatement,
  work: (transaction: TenantTransaction) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const lease = await source.acquire(signal, access?.tenantId);
  let inFlight: Promise<unknown> = Promise.resolve();
  let failed: unknown;
  let open = true;
  const run = (statements: readonly BatchStatement[]) => {
    const running = runBatch(lease.client, statements);
    inFlight = running;
    return orAborted(running, signal);
  };
  const transaction: TenantTransaction = {
    async query(statement) {
      const [rows] = await transaction.batch([statement]);
      return rows;
    },
    async batch(statements) {
      if (!open) throw new Error("the transaction has ended");
      try {
        return decodeRows(statements, await run(statements.map((statement) => named(source, statement))));
      } catch (error) {
        failed ??= error;
        throw error;
      }
    },
    advances() {},
  };
  try {
    await run([BEGIN, preamble]);
    const result = await orAborted(work(transaction), signal);
    open = false;
    // `work` must not turn a failed statement into a commit that quietly rolls back.
    if (failed !== undefined) throw failed;
    await run([COMMIT]);
    lease.release();
    return result;
  } catch (error) {
    open = false;
    await giveBack(lease, failed ?? error, inFlight, signal);
    throw error;
  }
}

/**
 * Rolls back what is open. A connection that ran out of time, was lost, or whose rollback does not succeed at once is given up.
 *
 * After any other error it is used again once ROLLBACK has succeeded: tenant, credentials, role and timeout were set for the transaction alone and
 * are gone with it. A refused write is something callers can cause at will, and a new connection for each would be the dearer answer.
 */
async function giveBack(lease: Lease, error: unknown, inFlight: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (signal.aborted || endsConnection(error)) {
    lease.abandon(signal.aborted ? inFlight : undefined);
    return;
  }
  try {
    if (lease.client.getTransactionStatus() !== "I") await orAborted(runBatch(lease.client, [ROLLBACK]), signal);
    lease.release();
  } catch {
    lease.abandon();
  }
}
