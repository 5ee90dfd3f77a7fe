import { join } from "node:path";
import type { TenantId } from "../catalog/corpus.ts";
import type { Config } from "../config/config.ts";
import type { Observe } from "../observability/observation.ts";
import { compile, noRows, type Statement, sql } from "../sql/sql.ts";
import { type AdminConnection, LeasedAdminConnection } from "./admin-connection.ts";
import { claimDataDirectory } from "./data-directory.ts";
import type {
  Database,
  DatabaseRole,
  OperatorDatabase,
  RowsOf,
  StatementLimits,
  TenantTransaction,
} from "./database.ts";
import { EmbeddedEngine } from "./embedded-engine.ts";
import { EmbeddedSource } from "./embedded-source.ts";
import { LeasedOperatorDatabase } from "./operator-database.ts";
import { StartupError } from "./startup-error.ts";
import { readInBatch, writeInTransaction } from "./tenant-transaction.ts";

const TRIVIAL = compile(sql`select`, noRows);

/** The embedded database: Postgres in a worker thread, one connection, no real boundary between roles (DESIGN section 4). */
export class EmbeddedDatabase implements Database {
  readonly kind = "embedded";
  readonly #engine: EmbeddedEngine;
  readonly #sources: Readonly<Record<DatabaseRole, EmbeddedSource>>;
  readonly #release: () => Promise<void>;

  constructor(engine: EmbeddedEngine, release: () => Promise<void>) {
    this.#engine = engine;
    this.#release = release;
    this.#sources = {
      reader: new EmbeddedSource(engine, "reader"),
      adder: new EmbeddedSource(engine, "adder"),
      deleter: new EmbeddedSource(engine, "deleter"),
      state: new EmbeddedSource(engine, "state"),
    };
  }

  read<const Statements extends readonly Statement<unknown>[]>(
    role: DatabaseRole,
    tenantId: TenantId,
    statements: Statements,
    limits: StatementLimits,
  ): Promise<RowsOf<Statements>> {
    return readInBatch(this.#sources[role], tenantId, statements, limits);
  }

  write<Result>(
    role: Exclude<DatabaseRole, "reader">,
    tenantId: TenantId,
    limits: StatementLimits,
    work: (transaction: TenantTransaction) => Promise<Result>,
  ): Promise<Result> {
    return writeInTransaction(this.#sources[role], tenantId, work, limits);
  }

  async isReachable(timeoutMs: number): Promise<boolean> {
    try {
      const signal = new AbortController().signal;
      await readInBatch(this.#sources.reader, undefined, [TRIVIAL], { signal, timeoutMs });
      return true;
    } catch {
      return false;
    }
  }

  async close(): Promise<void> {
    await this.#engine.close();
    await this.#release();
  }
}

/** One open data directory: the server's view, the operator's, and the migrator's. Closing `database` closes them all. */
export interface Embedded {
  readonly database: Database;
  readonly operator: OperatorDatabase;
  readonly admin: AdminConnection;
}

export const embeddedOver = (engine: EmbeddedEngine, release: () => Promise<void>): Embedded => ({
  database: new EmbeddedDatabase(engine, release),
  operator: new LeasedOperatorDatabase(new EmbeddedSource(engine, "operator"), { hold: true, close: async () => {} }),
  admin: new LeasedAdminConnection(new EmbeddedSource(engine, "migrate"), async () => {}),
});

/**
 * Opens `database.embeddedDir`, making it when it is not there. Only one process may: the directory is locked until `close`.
 *
 * @throws StartupError when another process has it, when it was written by another engine version, or when it cannot be opened
 */
export async function openEmbedded({ database }: Config, observe: Observe = () => {}): Promise<Embedded> {
  const claim = await claimDataDirectory(database.embeddedDir);
  try {
    const engine = await EmbeddedEngine.open(
      { dataDir: join(database.embeddedDir, "data") },
      { waitMs: database.poolWaitMs, observe },
    );
    await claim.recordEngine();
    return embeddedOver(engine, claim.release);
  } catch (cause) {
    await claim.release();
    throw new StartupError(
      `the embedded database in ${database.embeddedDir} cannot be opened`,
      "move the folder away to start with an empty one, or restore it from a backup",
      undefined,
      { cause },
    );
  }
}
