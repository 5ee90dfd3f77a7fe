import type pg from "pg";
import type { Config } from "../config/config.ts";
import type { Observe } from "../observability/observation.ts";
import { compile, declareCursor, identifier, integer, noRows, type Statement, sql } from "../sql/sql.ts";
import { type AdminConnection, LeasedAdminConnection } from "./admin-connection.ts";
import { runBatch } from "./batch.ts";
import type { OperatorDatabase, TenantTransaction } from "./database.ts";
import type { Lease, LeaseSource } from "./lease.ts";
import { connectionOf, poolLimitsOf, RolePool } from "./pools.ts";
import { readInBatch, writeInTransaction } from "./tenant-transaction.ts";

const NEVER = new AbortController().signal;
let cursors = 0;

export interface OperatorOptions {
  /**
   * Keeps a stream's rows in a cursor that outlives its transaction, so that the connection is free between pieces: for a database
   * that has only one.
   */
  readonly hold: boolean;
  readonly close: () => Promise<void>;
}

/** The operator's view across tenants. */
export class LeasedOperatorDatabase implements OperatorDatabase {
  readonly #source: LeaseSource;
  readonly #hold: boolean;
  readonly close: () => Promise<void>;

  constructor(source: LeaseSource, { hold, close }: OperatorOptions) {
    this.#source = source;
    this.#hold = hold;
    this.close = close;
  }

  async read<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    const [rows] = await readInBatch(this.#source, undefined, [statement]);
    return rows;
  }

  write<Result>(work: (transaction: TenantTransaction) => Promise<Result>): Promise<Result> {
    return writeInTransaction(this.#source, undefined, work);
  }

  async *stream<Row>(statement: Statement<Row>, batch: number): AsyncIterable<readonly Row[]> {
    cursors += 1;
    const cursor = `pgrcp_stream_${cursors}`;
    const declare = declareCursor(cursor, statement, this.#hold);
    const count = integer(Math.max(1, Math.trunc(batch)));
    const fetch = compile(sql`fetch ${count} from ${identifier(cursor)}`, statement.decode);
    const preamble = this.#source.preamble(undefined, undefined);
    const begin = this.#hold ? [] : [compile(sql`begin isolation level repeatable read read only`, noRows)];
    const end = compile(this.#hold ? sql`close ${identifier(cursor)}` : sql`commit`, noRows);

    let lease: Lease | undefined = await this.#source.acquire(NEVER, undefined);
    try {
      await runBatch(lease.client, [...begin, preamble, declare]);
      for (;;) {
        lease ??= await this.#source.acquire(NEVER, undefined);
        const [rows] = await runBatch(lease.client, [fetch]);
        if (rows === undefined || rows.length === 0) return;
        if (this.#hold) {
          lease.release();
          lease = undefined;
        }
        yield rows.map(fetch.decode);
      }
    } finally {
      lease ??= await this.#source.acquire(NEVER, undefined);
      const { release, abandon } = lease;
      await runBatch(lease.client, [end]).then(release, () => abandon());
    }
  }
}

/** The operator on Postgres, as `database.operator`. For commands and maintenance; a server holds none. */
export function openPostgresOperator(url: string, config: Config, observe: Observe): OperatorDatabase {
  const limits = { ...poolLimitsOf(config), size: 2 };
  const pool = new RolePool("operator", connectionOf(url, config.database.operator), limits, observe);
  return new LeasedOperatorDatabase(pool, { hold: false, close: () => pool.close() });
}

/** The login of `pgrcp migrate` on Postgres. */
export function openPostgresAdmin(url: string, config: Config, observe: Observe): AdminConnection {
  const connection = { connectionString: url, fallback_application_name: "pgrcp migrate" };
  return openAlone("migrate", connection, config, observe);
}

/** The operator's login for `pgrcp maintain`, which becomes the owner: what it builds is the owner's to build. */
export function openPostgresMaintainer(url: string, config: Config, observe: Observe): AdminConnection {
  const connection = { ...connectionOf(url, config.database.operator), fallback_application_name: "pgrcp maintain" };
  return openAlone("operator", connection, config, observe);
}

/** One connection, so that a lock taken on it stays. */
function openAlone(role: "migrate" | "operator", connection: pg.ClientConfig, config: Config, observe: Observe) {
  const pool = new RolePool(role, connection, { ...poolLimitsOf(config), size: 1 }, observe);
  return new LeasedAdminConnection(pool, () => pool.close());
}
