/**
 * SQL text can only be written as a template literal here; values become parameters. A query is a tree of pieces
 * until `compile` numbers its parameters, so pieces join in any order without renumbering by hand.
 */

export type SqlValue =
  | string
  | number
  | boolean
  | bigint
  | null
  | Uint8Array
  | readonly string[]
  | readonly number[]
  | readonly boolean[]
  | readonly (string | null)[];

const brand: unique symbol = Symbol("sql");

export interface Sql {
  readonly [brand]: true;
  readonly strings: readonly string[];
  readonly values: readonly (SqlValue | Sql)[];
}

/** What the database runs: text with `$1…$n`, and the values behind them. */
export interface Statement<Row = unknown> {
  readonly text: string;
  readonly values: readonly SqlValue[];
  /** Reads one row as the driver gives it. Throws only when the schema and the code disagree. */
  readonly decode: (row: Readonly<Record<string, unknown>>) => Row;
  /** One plan is as good for any other values, so it is kept where the statement has a name. */
  readonly isPlannedOnce?: boolean;
}

const isSql = (value: unknown): value is Sql => typeof value === "object" && value !== null && brand in value;

/** Static text with values between; a value is a parameter, another `sql` piece is spliced in. */
export function sql(strings: TemplateStringsArray, ...values: readonly (SqlValue | Sql)[]): Sql {
  return { [brand]: true, strings, values };
}

/** Text that is not in the source. For the constructors below alone, which quote or check it. */
const escaped = (text: string): Sql => ({ [brand]: true, strings: [text], values: [] });

/** A quoted name. */
export function identifier(name: string): Sql {
  if (name === "" || name.includes("\u0000")) throw new Error("an SQL identifier must not be empty or hold U+0000");
  return escaped(`"${name.replaceAll('"', '""')}"`);
}

/** A quoted text, for statements that take no parameters. Read alike whatever `standard_conforming_strings` says. */
export function literal(text: string): Sql {
  if (text.includes("\u0000")) throw new Error("an SQL literal must not hold U+0000");
  const doubled = `'${text.replaceAll("'", "''")}'`;
  return escaped(doubled.includes("\\") ? `E${doubled.replaceAll("\\", "\\\\")}` : doubled);
}

/** A whole number, where SQL takes no parameter. */
export function integer(value: number): Sql {
  if (!Number.isSafeInteger(value)) throw new Error("an SQL integer must be a whole number");
  return escaped(String(value));
}

/** Joins pieces with static text between them, such as `, ` or ` and `. */
export function joinSql(pieces: readonly Sql[], separator: Sql): Sql {
  if (separator.values.length > 0) throw new Error("a separator holds no parameters");
  const between = separator.strings.join("");
  return {
    [brand]: true,
    strings: pieces.length === 0 ? [""] : ["", ...pieces.slice(1).map(() => between), ""],
    values: pieces,
  };
}

/** Numbers the parameters. Equal values are not shared: a parameter takes its type from its place. */
export function compile<Row>(query: Sql, decode: (row: Readonly<Record<string, unknown>>) => Row): Statement<Row> {
  const values: SqlValue[] = [];
  let text = "";
  const append = (piece: Sql): void => {
    const { strings, values: parts } = piece;
    for (let index = 0; index < strings.length; index++) {
      text += strings[index];
      if (index >= parts.length) continue;
      const value = parts[index];
      if (value === undefined) throw new Error("undefined is not an SQL value; say null");
      if (isSql(value)) append(value);
      else {
        values.push(value);
        text += `$${values.length}`;
      }
    }
  };
  append(query);
  return { text, values, decode };
}

/** A statement whose plan does not depend on its values. */
export const plannedOnce = <Row>(statement: Statement<Row>): Statement<Row> => ({ ...statement, isPlannedOnce: true });

/**
 * A statement's rows as a cursor, which is where its text goes behind another: its parameters keep their numbers.
 *
 * @param hold keeps the cursor when its transaction ends, until it is closed
 */
export function declareCursor(name: string, { text, values }: Statement, hold: boolean): Statement<undefined> {
  const head = compile(sql`declare ${identifier(name)} no scroll cursor ${hold ? sql`with hold ` : sql``}for `, noRows);
  return { ...head, text: head.text + text, values };
}

/** How Postgres runs a statement, and how long that takes, line by line. */
export function explained({ text, values }: Statement): Statement<string> {
  const head = compile(sql`explain (analyze, buffers) `, (row) => row["QUERY PLAN"] as string);
  return { ...head, text: head.text + text, values };
}

/** For statements whose rows nobody reads. */
export const noRows = (): undefined => undefined;
