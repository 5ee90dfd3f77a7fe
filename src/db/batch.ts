import type pg from "pg";
import type { SqlValue } from "../sql/sql.ts";
import { type DatabaseRow, parserOf } from "./row-parsers.ts";

/** SQL text and the values behind its `$n`. With a name, the server keeps it parsed for the connection's life. */
export interface BatchStatement {
  readonly text: string;
  readonly values: readonly SqlValue[];
  readonly name?: string | undefined;
}

/** The messages that pg-protocol hands over and this file reads. */
interface RowDescription {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
}
interface DataRow {
  readonly fields: readonly (string | null)[];
}

type Column = { readonly name: string; readonly parse: (text: string) => unknown };

const quoted = (text: string): string => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;

/** A value as the wire carries it: text, or bytes for a bytea. */
function toWire(value: SqlValue): string | Buffer | null {
  if (value === null) return null;
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (typeof value !== "object") return String(value);
  const items = value.map((item) => (typeof item === "string" ? quoted(item) : String(item)));
  return `{${items.join(",")}}`;
}

/** Names that a connection's server side knows. A failed batch forgets the names it brought. */
const parsedNames = new WeakMap<pg.Connection, Set<string>>();

/**
 * Several statements under one Sync: one round trip and, outside BEGIN … COMMIT, one implicit transaction. An error in any of them
 * undoes all of them. Settles only when the server is ready for the next query, so the connection is idle by then.
 *
 * pg's own queries keep a Sync each, and its pipeline mode runs the rest after a failed BEGIN.
 */
class Batch implements pg.Submittable {
  readonly rows: Promise<readonly DatabaseRow[][]>;
  #resolve: (rows: readonly DatabaseRow[][]) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  readonly #statements: readonly (Omit<BatchStatement, "values"> & { values: (string | Buffer | null)[] })[];
  readonly #results: DatabaseRow[][] = [];
  #current: DatabaseRow[] = [];
  #columns: readonly Column[] = [];
  #connection: pg.Connection | undefined;

  constructor(statements: readonly BatchStatement[]) {
    // Before anything is sent: a value that cannot be must not leave half a batch on the wire.
    this.#statements = statements.map((statement) => ({ ...statement, values: statement.values.map(toWire) }));
    this.rows = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  submit(connection: pg.Connection): void {
    this.#connection = connection;
    const known = parsedNames.get(connection) ?? new Set();
    parsedNames.set(connection, known);
    connection.stream.cork();
    for (const { text, values, name } of this.#statements) {
      if (name === undefined || !known.has(name)) {
        // A statement that parsed and then failed leaves its name on the server; closing an unknown name is no error.
        if (name !== undefined) connection.close({ type: "S", name }, true);
        connection.parse({ text, name: name ?? "", types: [] }, true);
      }
      connection.bind({ statement: name ?? "", values }, true);
      connection.describe({ type: "P", name: "" }, true);
      connection.execute({ portal: "" }, true);
    }
    connection.sync();
    connection.stream.uncork();
  }

  handleRowDescription(message: RowDescription): void {
    this.#columns = message.fields.map(({ name, dataTypeID }) => ({ name, parse: parserOf(dataTypeID) }));
  }

  handleDataRow(message: DataRow): void {
    const row: Record<string, unknown> = {};
    let index = 0;
    for (const { name, parse } of this.#columns) {
      const text = message.fields[index++] ?? null;
      row[name] = text === null ? null : parse(text);
    }
    this.#current.push(row);
  }

  handleCommandComplete(): void {
    this.#results.push(this.#current);
    this.#current = [];
    this.#columns = [];
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete();
  }

  handleReadyForQuery(connection: pg.Connection): void {
    const known = parsedNames.get(connection);
    for (const { name } of this.#statements) if (name !== undefined) known?.add(name);
    this.#resolve(this.#results);
  }

  /** From the server: ready follows. From the socket: nothing does. */
  handleError(error: Error): void {
    const connection = this.#connection;
    if (connection === undefined || !isFromServer(error)) {
      this.#reject(error);
      return;
    }
    const settle = (): void => {
      connection.off("readyForQuery", settle);
      connection.off("end", settle);
      this.#reject(error);
    };
    connection.on("readyForQuery", settle);
    connection.on("end", settle);
  }

  handlePortalSuspended(): void {}

  handleCopyInResponse(connection: pg.Connection & { sendCopyFail?: (message: string) => void }): void {
    connection.sendCopyFail?.("COPY is not used here");
  }

  handleCopyData(): void {}
}

/** True for an error message of the database; false for a broken socket. */
const isFromServer = (error: unknown): error is Error & { readonly code: string } =>
  error instanceof Error && "severity" in error && "code" in error && typeof error.code === "string";

/**
 * Runs statements under one Sync.
 *
 * @returns one list of rows per statement
 */
export function runBatch(
  client: pg.ClientBase,
  statements: readonly BatchStatement[],
): Promise<readonly (readonly DatabaseRow[])[]> {
  const batch = new Batch(statements);
  client.query(batch);
  return batch.rows;
}
