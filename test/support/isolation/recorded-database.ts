import type { Database, TenantTransaction } from "../../../src/db/database.ts";
import type { Statement } from "../../../src/sql/sql.ts";

/** What went through a database: the texts of its statements, and the refusals by the role they were for. */
export interface DatabaseRecord {
  readonly statements: Set<string>;
  readonly refusals: { readonly role: string; readonly sqlstate: string }[];
  /** Calls that have not settled. */
  running: number;
}

/** A database that answers as the one inside does, and keeps a record. */
export function recorded(database: Database, record: DatabaseRecord): Database {
  const note = ({ text }: Statement<unknown>) => void record.statements.add(text);
  const counted = async <Result>(role: string, work: () => Promise<Result>): Promise<Result> => {
    record.running += 1;
    try {
      return await work();
    } catch (error) {
      const sqlstate = sqlstateOf(error);
      if (sqlstate !== undefined) record.refusals.push({ role, sqlstate });
      throw error;
    } finally {
      record.running -= 1;
    }
  };
  const noted = (transaction: TenantTransaction): TenantTransaction => ({
    ...transaction,
    query(statement) {
      note(statement);
      return transaction.query(statement);
    },
    batch(statements) {
      statements.forEach(note);
      return transaction.batch(statements);
    },
  });
  return {
    kind: database.kind,
    read(role, access, statements, limits) {
      statements.forEach(note);
      return counted(role, () => database.read(role, access, statements, limits));
    },
    readCorpus(point, access, statements, limits) {
      statements.forEach(note);
      return counted("reader", () => database.readCorpus(point, access, statements, limits));
    },
    write(role, access, limits, work) {
      return counted(role, () => database.write(role, access, limits, (transaction) => work(noted(transaction))));
    },
    isReachable: (timeoutMs) => database.isReachable(timeoutMs),
    close: () => database.close(),
  };
}

/** Postgres' five characters, in the error itself or in what caused it. */
function sqlstateOf(error: unknown): string | undefined {
  for (let one = error; one instanceof Error; one = one.cause)
    if ("severity" in one && "code" in one && typeof one.code === "string") return one.code;
  return undefined;
}
