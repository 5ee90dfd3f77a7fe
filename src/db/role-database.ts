import { compile, noRows, type Statement, sql } from "../sql/sql.ts";
import type {
  Access,
  CorpusPoint,
  Database,
  DatabaseRole,
  RowsOf,
  StatementLimits,
  TenantTransaction,
} from "./database.ts";
import type { LeaseSource } from "./lease.ts";
import { readInBatch, writeInTransaction } from "./tenant-transaction.ts";

const TRIVIAL = compile(sql`select`, noRows);

/** A database over one source of connections for each role. */
export class RoleDatabase implements Database {
  readonly kind: Database["kind"];
  readonly close: () => Promise<void>;
  readonly #sources: Readonly<Record<DatabaseRole, LeaseSource>>;

  constructor(
    kind: Database["kind"],
    sources: Readonly<Record<DatabaseRole, LeaseSource>>,
    close: () => Promise<void>,
  ) {
    this.kind = kind;
    this.close = close;
    this.#sources = sources;
  }

  read<const Statements extends readonly Statement<unknown>[]>(
    role: DatabaseRole,
    access: Access,
    statements: Statements,
    limits: StatementLimits,
  ): Promise<RowsOf<Statements>> {
    return readInBatch(this.#sources[role], access, statements, limits);
  }

  readCorpus<const Statements extends readonly Statement<unknown>[]>(
    _point: CorpusPoint,
    access: Access,
    statements: Statements,
    limits: StatementLimits,
  ): Promise<RowsOf<Statements>> {
    return this.read("reader", access, statements, limits);
  }

  write<Result>(
    role: Exclude<DatabaseRole, "reader">,
    access: Access,
    limits: StatementLimits,
    work: (transaction: TenantTransaction) => Promise<Result>,
  ): Promise<Result> {
    return writeInTransaction(this.#sources[role], access, work, limits);
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
}
