import type { FilterField } from "../catalog/corpus.ts";
import type { FilterScalar, ResolvedFilter } from "../plan/filter.ts";
import { COLUMN_TYPES } from "./column-types.ts";
import { identifier, joinSql, type Sql, sql } from "./sql.ts";

type Comparison = "eq" | "gt" | "gte" | "lt" | "lte";

/** `column operator value`. */
const COLUMN_FIRST = {
  eq: sql` = `,
  gt: sql` > `,
  gte: sql` >= `,
  lt: sql` < `,
  lte: sql` <= `,
} satisfies Record<Comparison, Sql>;

/** `value operator any (column)`: the same comparisons, seen from the other side. */
const VALUE_FIRST = {
  eq: sql` = `,
  gt: sql` < `,
  gte: sql` <= `,
  lt: sql` > `,
  lte: sql` >= `,
} satisfies Record<Comparison, Sql>;

/**
 * A predicate on the typed columns of `pgrcp.chunks` that is true or false and never NULL, and stands as it is beside
 * `and`, `or` and `not`.
 *
 * Each leaf is guarded by itself. A guard around the whole tree would be too late: under `not`, NULL has already become
 * NULL where it must be true. `is true` rather than `coalesce`, because the planner's row estimate sees through it.
 *
 * Columns are compared as they are: text under the column's own `collate "C"`, so by bytes, and substrings by `strpos`,
 * which has no wildcards.
 *
 * @see RCP §8, §15.4; DESIGN ruling 13
 */
export function filterToSql(filter: ResolvedFilter): Sql {
  switch (filter.kind) {
    case "and":
      return sql`(${joinSql(filter.of.map(filterToSql), sql` and `)})`;
    case "or":
      return sql`(${joinSql(filter.of.map(filterToSql), sql` or `)})`;
    case "not":
      return sql`not (${filterToSql(filter.of)})`;
    case "compare":
      return filter.op === "ne"
        ? sql`(${comparison(filter.field, "eq", filter.value)}) is not true`
        : sql`(${comparison(filter.field, filter.op, filter.value)}) is true`;
    case "member":
      return filter.op === "nin"
        ? sql`(${membership(filter.field, filter.values)}) is not true`
        : sql`(${membership(filter.field, filter.values)}) is true`;
    case "contains":
      return sql`(${containment(filter.field, filter.value)}) is true`;
    case "exists":
      return filter.present
        ? sql`${identifier(filter.field.column)} is not null`
        : sql`${identifier(filter.field.column)} is null`;
  }
}

/**
 * The same as the condition of a query, which takes NULL for false: what all must meet stands there as it is, so that an index on the
 * column can find the rows. No index knows a comparison behind `is true`.
 */
export function filterToCondition(filter: ResolvedFilter): Sql {
  switch (filter.kind) {
    case "and":
      return joinSql(filter.of.map(filterToCondition), sql` and `);
    case "compare":
      if (filter.field.array || filter.op === "ne") return filterToSql(filter);
      return comparison(filter.field, filter.op, filter.value);
    case "member":
      if (filter.field.array || filter.op === "nin") return filterToSql(filter);
      return membership(filter.field, filter.values);
    default:
      return filterToSql(filter);
  }
}

function comparison(field: FilterField, op: Comparison, value: FilterScalar): Sql {
  const column = identifier(field.column);
  const parameter = COLUMN_TYPES[field.type].value(value);
  return field.array
    ? sql`${parameter}${VALUE_FIRST[op]}any (${column})`
    : sql`${column}${COLUMN_FIRST[op]}${parameter}`;
}

function membership(field: FilterField, values: readonly FilterScalar[]): Sql {
  const column = identifier(field.column);
  const list = COLUMN_TYPES[field.type].values(values);
  return field.array ? sql`${column} && ${list}` : sql`${column} = any (${list})`;
}

function containment(field: FilterField, value: FilterScalar): Sql {
  return field.array
    ? comparison(field, "eq", value)
    : sql`strpos(${identifier(field.column)}, ${COLUMN_TYPES.text.value(value)}) > 0`;
}
