import type { Corpus, CorpusName, TenantId } from "../catalog/corpus.ts";
import type { Statement } from "../sql/sql.ts";

/**
 * The database as the rest of the server sees it: two implementations, Postgres by `pg` and the embedded PGlite in a worker
 * thread, under the same roles, policies and SQL.
 */

/** A login role's short name: `reader` is `pgrcp_reader`. Chosen by method, never by token (DESIGN section 3). */
export type DatabaseRole = "reader" | "adder" | "deleter" | "state";

/**
 * On whose behalf a transaction runs. Both travel into it: policies let through the tenant's own rows, and let a role work only
 * where the caller's token holds the role's credential.
 */
export interface Access {
  readonly tenantId: TenantId;
  readonly credentials: ReadonlySet<"read" | "add" | "delete">;
}

export interface StatementLimits {
  /** Aborts the running SQL; the promise rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Sent as `statement_timeout` and, on the embedded database, kept from outside. */
  readonly timeoutMs: number;
}

export type RowsOf<Statements extends readonly Statement<unknown>[]> = {
  readonly [K in keyof Statements]: Statements[K] extends Statement<infer Row> ? readonly Row[] : never;
};

/** Inside a write transaction. Statements run one after the other, for the transaction's role and access. */
export interface TenantTransaction {
  query<Row>(statement: Statement<Row>): Promise<readonly Row[]>;
  /** Several in one round trip. Each sees what was committed, and what those before it did, when its own turn comes. */
  batch<const Statements extends readonly Statement<unknown>[]>(statements: Statements): Promise<RowsOf<Statements>>;
  /** Says which version of a corpus it makes: once it has ended, this process reads no earlier one. */
  advances(corpus: CorpusName, version: number): void;
}

/** What a read of a corpus must find where it is answered. */
export interface CorpusPoint {
  readonly corpus: Corpus;
  /** A version's token. */
  readonly pin?: string | undefined;
}

export interface Database {
  readonly kind: "postgres" | "embedded";

  /**
   * Runs the statements in one transaction with one snapshot (repeatable read, read only for `reader`), in one round trip
   * where the driver allows. Role, tenant and credentials are set inside it and gone after it.
   *
   * @throws RpcError -32010 (pool exhausted, connection lost), -32014 (timeout), -32012 (42501); never a driver's own error
   *   for those
   */
  read<const Statements extends readonly Statement<unknown>[]>(
    role: DatabaseRole,
    access: Access,
    statements: Statements,
    limits: StatementLimits,
  ): Promise<RowsOf<Statements>>;

  /**
   * Like `read`, as the reader, of one corpus alone: a replica answers where there is one that has the pin, every version of the corpus that this process
   * has made or met lately, and all that was committed `database.maxReplicaLagMs` ago. Else the primary does, also where the replica fails.
   */
  readCorpus<const Statements extends readonly Statement<unknown>[]>(
    point: CorpusPoint,
    access: Access,
    statements: Statements,
    limits: StatementLimits,
  ): Promise<RowsOf<Statements>>;

  /** Runs `work` in one read-committed transaction; rolls back when it throws. */
  write<Result>(
    role: Exclude<DatabaseRole, "reader">,
    access: Access,
    limits: StatementLimits,
    work: (transaction: TenantTransaction) => Promise<Result>,
  ): Promise<Result>;

  /** True when a trivial query as the reader answers within `timeoutMs`. */
  isReachable(timeoutMs: number): Promise<boolean>;

  close(): Promise<void>;
}

/**
 * The operator's view across tenants, for the command line and maintenance only; `serve` on Postgres never holds one.
 * Operator statements name their tenant themselves.
 */
export interface OperatorDatabase {
  read<Row>(statement: Statement<Row>): Promise<readonly Row[]>;
  write<Result>(work: (transaction: TenantTransaction) => Promise<Result>): Promise<Result>;
  /** Rows in pieces of at most `batch`, for exports that must not fill memory. */
  stream<Row>(statement: Statement<Row>, batch: number): AsyncIterable<readonly Row[]>;
  close(): Promise<void>;
}
