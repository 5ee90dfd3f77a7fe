import type { FieldType, FilterField } from "../catalog/corpus.ts";
import type { FilterScalar } from "../plan/filter.ts";
import { type Sql, sql } from "./sql.ts";

/** What a filter field is in SQL: the one table that columns, the values written to them and the values compared with them share. */

interface ColumnType {
  /** Of one value. */
  readonly element: Sql;
  readonly list: Sql;
  /** Byte order, for what has another. */
  readonly collation: Sql;
  /** As `format_type` spells it. */
  readonly formatted: string;
  /** A parameter with its type: without a cast Postgres would guess from the operator. */
  readonly value: (value: FilterScalar) => Sql;
  /** The same for a list, which is one parameter however long it is. */
  readonly values: (values: readonly FilterScalar[]) => Sql;
}

const TEXT: ColumnType = {
  element: sql`text`,
  list: sql`text[]`,
  collation: sql` collate "C"`,
  formatted: "text",
  value: (value) => sql`${String(value)}::text`,
  values: (values) => sql`${values.map(String)}::text[]`,
};

const BIGINT: ColumnType = {
  element: sql`bigint`,
  list: sql`bigint[]`,
  collation: sql``,
  formatted: "bigint",
  value: (value) => sql`${Number(value)}::bigint`,
  values: (values) => sql`${values.map(Number)}::bigint[]`,
};

const FLOAT8: ColumnType = {
  element: sql`float8`,
  list: sql`float8[]`,
  collation: sql``,
  formatted: "double precision",
  value: (value) => sql`${Number(value)}::float8`,
  values: (values) => sql`${values.map(Number)}::float8[]`,
};

const BOOLEAN: ColumnType = {
  element: sql`boolean`,
  list: sql`boolean[]`,
  collation: sql``,
  formatted: "boolean",
  value: (value) => sql`${Boolean(value)}::boolean`,
  values: (values) => sql`${values.map(Boolean)}::boolean[]`,
};

/** By field type. A date is its instant in epoch milliseconds. */
export const COLUMN_TYPES = {
  keyword: TEXT,
  text: TEXT,
  int: BIGINT,
  float: FLOAT8,
  bool: BOOLEAN,
  date: BIGINT,
} as const satisfies Record<FieldType, ColumnType>;

/** The column as `alter table` makes it. */
export function columnTypeOf({ type, array }: FilterField): Sql {
  const { element, list, collation } = COLUMN_TYPES[type];
  return sql`${array ? list : element}${collation}`;
}

/** The column's type as `format_type` gives it. */
export const formattedTypeOf = ({ type, array }: FilterField): string =>
  `${COLUMN_TYPES[type].formatted}${array ? "[]" : ""}`;
