import type { TenantId } from "../catalog/corpus.ts";
import type { Config } from "../config/config.ts";
import type { Observe } from "../observability/observation.ts";
import { compile, noRows, type Statement, sql } from "../sql/sql.ts";
import type { Database, DatabaseRole, RowsOf, StatementLimits, TenantTransaction } from "./database.ts";
import { connectionOf, poolLimitsOf, RolePool } from "./pools.ts";
import { readInBatch, writeInTransaction } from "./tenant-transaction.ts";

const TRIVIAL = compile(sql`select`, noRows);
const NO_TENANT = "" as TenantId;

/** Postgres by `pg`: one pool per login role. Nothing connects before the first statement. */
export class PostgresDatabase implements Database {
  readonly kind = "postgres";
  readonly url: string;
  readonly logins: Readonly<Record<DatabaseRole, { readonly user: string }>>;
  readonly #pools: Readonly<Record<DatabaseRole, RolePool>>;

  /** @param url where the database is; each role has its own login there */
  constructor(url: string, config: Config, observe: Observe) {
    const { reader, adder, deleter, state } = config.database;
    const pool = (role: DatabaseRole) =>
      new RolePool(role, connectionOf(url, config.database[role]), poolLimitsOf(config), observe);
    this.url = url;
    this.logins = { reader, adder, deleter, state };
    this.#pools = { reader: pool("reader"), adder: pool("adder"), deleter: pool("deleter"), state: pool("state") };
  }

  read<const Statements extends readonly Statement<unknown>[]>(
    role: DatabaseRole,
    tenantId: TenantId,
    statements: Statements,
    limits: StatementLimits,
  ): Promise<RowsOf<Statements>> {
    return readInBatch(this.#pools[role], tenantId, statements, limits);
  }

  write<Result>(
    role: Exclude<DatabaseRole, "reader">,
    tenantId: TenantId,
    limits: StatementLimits,
    work: (transaction: TenantTransaction) => Promise<Result>,
  ): Promise<Result> {
    return writeInTransaction(this.#pools[role], tenantId, work, limits);
  }

  async isReachable(timeoutMs: number): Promise<boolean> {
    try {
      const signal = new AbortController().signal;
      await readInBatch(this.#pools.reader, NO_TENANT, [TRIVIAL], { signal, timeoutMs });
      return true;
    } catch {
      return false;
    }
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#pools).map((pool) => pool.close()));
  }
}
