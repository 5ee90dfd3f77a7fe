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

/**
 * The names that a connection's server side knows, those used last at the end, and the columns of each, which it describes once: as long as
 * it keeps the name it would rather refuse the statement than give others. A failed batch forgets the names it brought.
 */
const parsed = new WeakMap<pg.Connection, Map<string, readonly Column[]>>();

/** What a connection keeps parsed and planned at most: each takes some 50 to 200 kB of the database's memory. */
const MAX_NAMES = 64;

/** "cached plan must not change result type", among others: a table has changed since the statement was parsed. */
const HAS_OTHER_COLUMNS = "0A000";

/** What is known of a name, which now is the one that was used last. */
function touch<Value>(known: Map<string, Value>, name: string | undefined): Value | undefined {
  const value = name === undefined ? undefined : known.get(name);
  if (name === undefined || value === undefined) return undefined;
  known.delete(name);
  known.set(name, value);
  return value;
}

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

  readonly #statements: readonly BatchStatement[];
  readonly #values: readonly (string | Buffer | null)[][];
  readonly #results: DatabaseRow[][] = [];
  #current: DatabaseRow[] = [];
  /** Of each statement whose columns are known by now. */
  #columns: (readonly Column[] | undefined)[] = [];
  #connection: pg.Connection | undefined;

  constructor(statements: readonly BatchStatement[]) {
    this.#statements = statements;
    // Before anything is sent: a value that cannot be must not leave half a batch on the wire.
    this.#values = statements.map(({ values }) => values.map(toWire));
    this.rows = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  submit(connection: pg.Connection): void {
    this.#connection = connection;
    const known = parsed.get(connection);
    this.#columns = this.#statements.map(({ name }) => known && touch(known, name));
    connection.stream.cork();
    this.#makeRoom(connection, known);
    for (const [index, { text, name }] of this.#statements.entries()) {
      const isKnown = this.#columns[index] !== undefined;
      if (!isKnown) {
        // A statement that parsed and then failed leaves its name on the server; closing an unknown name is no error.
        if (name !== undefined) connection.close({ type: "S", name }, true);
        connection.parse({ text, name: name ?? "", types: [] }, true);
      }
      connection.bind({ statement: name ?? "", values: this.#values[index] ?? [] }, true);
      if (!isKnown) connection.describe({ type: "P", name: "" }, true);
      connection.execute({ portal: "" }, true);
    }
    connection.sync();
    connection.stream.uncork();
  }

  /** Closes what was not used for longest, before anything that could fail. */
  #makeRoom(connection: pg.Connection, known: Map<string, unknown> = new Map()): void {
    const unknown = this.#columns.filter((columns) => columns === undefined).length;
    for (const name of known.keys()) {
      if (known.size + unknown <= MAX_NAMES) return;
      connection.close({ type: "S", name }, true);
      known.delete(name);
    }
  }

  handleRowDescription(message: RowDescription): void {
    const columns = message.fields.map(({ name, dataTypeID }) => ({ name, parse: parserOf(dataTypeID) }));
    this.#columns[this.#results.length] = columns;
  }

  handleDataRow(message: DataRow): void {
    const row: Record<string, unknown> = {};
    let index = 0;
    for (const { name, parse } of this.#columns[this.#results.length] ?? []) {
      const text = message.fields[index++] ?? null;
      row[name] = text === null ? null : parse(text);
    }
    this.#current.push(row);
  }

  handleCommandComplete(): void {
    this.#results.push(this.#current);
    this.#current = [];
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete();
  }

  handleReadyForQuery(connection: pg.Connection): void {
    const known = parsed.get(connection) ?? new Map<string, readonly Column[]>();
    parsed.set(connection, known);
    for (const [index, { name }] of this.#statements.entries())
      if (name !== undefined) known.set(name, this.#columns[index] ?? []);
    this.#resolve(this.#results);
  }

  /** From the server: ready follows. From the socket: nothing does. */
  handleError(error: Error): void {
    const connection = this.#connection;
    if (connection === undefined || !isFromServer(error)) {
      this.#reject(error);
      return;
    }
    if (error.code === HAS_OTHER_COLUMNS) parsed.delete(connection);
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
