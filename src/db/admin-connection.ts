import type { Statement } from "../sql/sql.ts";
import { runBatch } from "./batch.ts";
import type { Lease, LeaseSource } from "./lease.ts";

/** Statements of a schema change, one after the other. */
export interface AdminTransaction {
  query<Row>(statement: Statement<Row>): Promise<readonly Row[]>;
  /** A file of statements without parameters. */
  script(text: string): Promise<void>;
}

/** The migrator's connection: the owner of everything, no tenant, no timeouts. Never part of a running server. */
export interface AdminConnection {
  /** One statement on its own, in no transaction block: some, such as CREATE INDEX CONCURRENTLY, allow nothing else. */
  query<Row>(statement: Statement<Row>): Promise<readonly Row[]>;
  transaction<Result>(work: (transaction: AdminTransaction) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

const NEVER = new AbortController().signal;

/** Errors rise as the driver gives them: the migrator names the file, and nobody else sees them. */
export class LeasedAdminConnection implements AdminConnection {
  readonly #source: LeaseSource;
  readonly close: () => Promise<void>;

  constructor(source: LeaseSource, close: () => Promise<void>) {
    this.#source = source;
    this.close = close;
  }

  async query<Row>(statement: Statement<Row>): Promise<readonly Row[]> {
    return await this.#with(async ({ client }) => {
      const [rows] = await runBatch(client, [statement]);
      return (rows ?? []).map(statement.decode);
    });
  }

  async transaction<Result>(work: (transaction: AdminTransaction) => Promise<Result>): Promise<Result> {
    return await this.#with(async ({ client }) => {
      await client.query("begin");
      const result = await work({
        async query(statement) {
          const [rows] = await runBatch(client, [statement]);
          return (rows ?? []).map(statement.decode);
        },
        async script(text) {
          await client.query(text);
        },
      });
      await client.query("commit");
      return result;
    });
  }

  async #with<Result>(work: (lease: Lease) => Promise<Result>): Promise<Result> {
    const lease = await this.#source.acquire(NEVER, undefined);
    try {
      const result = await work(lease);
      lease.release();
      return result;
    } catch (error) {
      await giveBack(lease);
      throw error;
    }
  }
}

/** Keeps the connection where it can: the migrator's advisory lock is held by it and would be gone with it. */
async function giveBack({ client, release, abandon }: Lease): Promise<void> {
  try {
    if (client.getTransactionStatus() !== "I") await client.query("rollback");
    release();
  } catch {
    abandon();
  }
}
