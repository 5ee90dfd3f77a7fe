/**
 * Filter trees as they travel (RCP §8), and functions that make them. What is no filter does not type-check: an empty `and`, a
 * comparison with a boolean, a list for `eq`.
 *
 * @example
 * const { and, eq, gte } = filtersFor<{ lang: "keyword"; year: "int" }>();
 * and(eq("lang", "en"), gte("year", 2020)); // gte("lang", 2020) and eq("year", "2020") do not compile
 */

export type FilterScalar = string | number | boolean;

export type FilterCondition =
  | { readonly field: string; readonly op: "eq" | "ne" | "contains"; readonly value: FilterScalar }
  | { readonly field: string; readonly op: "gt" | "gte" | "lt" | "lte"; readonly value: string | number }
  | { readonly field: string; readonly op: "in" | "nin"; readonly value: NonEmpty<FilterScalar> }
  | { readonly field: string; readonly op: "exists"; readonly value: boolean };

export type Filter =
  | { readonly and: NonEmpty<Filter> }
  | { readonly or: NonEmpty<Filter> }
  | { readonly not: Filter }
  | FilterCondition;

type NonEmpty<T> = readonly [T, ...T[]];

/** RCP §8 field types, as `filter.fields` advertises them. */
export type FilterFieldType = "keyword" | "text" | "int" | "float" | "bool" | "date" | "geo";

/** A date is RFC 3339 text or milliseconds since 1970 (RCP §4.6). */
interface ValueOf {
  readonly keyword: string;
  readonly text: string;
  readonly int: number;
  readonly float: number;
  readonly bool: boolean;
  readonly date: string | number;
  readonly geo: never;
}

type FieldTypes = Readonly<Record<string, FilterFieldType>>;
/** The names of the fields whose type is one of `Type`. */
type FieldOf<Fields extends FieldTypes, Type extends FilterFieldType = FilterFieldType> = {
  [Name in keyof Fields & string]: Fields[Name] extends Type ? Name : never;
}[keyof Fields & string];

export const and = (...filters: NonEmpty<Filter>): Filter => ({ and: filters });
export const or = (...filters: NonEmpty<Filter>): Filter => ({ or: filters });
/** Two-valued: what lacks the field passes, where the condition inside is false of it. */
export const not = (filter: Filter): Filter => ({ not: filter });

export const eq = (field: string, value: FilterScalar): Filter => ({ field, op: "eq", value });
export const ne = (field: string, value: FilterScalar): Filter => ({ field, op: "ne", value });
export const gt = (field: string, value: string | number): Filter => ({ field, op: "gt", value });
export const gte = (field: string, value: string | number): Filter => ({ field, op: "gte", value });
export const lt = (field: string, value: string | number): Filter => ({ field, op: "lt", value });
export const lte = (field: string, value: string | number): Filter => ({ field, op: "lte", value });
export const isIn = (field: string, value: NonEmpty<FilterScalar>): Filter => ({ field, op: "in", value });
export const notIn = (field: string, value: NonEmpty<FilterScalar>): Filter => ({ field, op: "nin", value });
/** A piece of a text field, or an element of a list. */
export const contains = (field: string, value: FilterScalar): Filter => ({ field, op: "contains", value });
export const exists = (field: string, value = true): Filter => ({ field, op: "exists", value });

/** The functions above for fields of known types. */
export interface FiltersFor<Fields extends FieldTypes> {
  readonly and: typeof and;
  readonly or: typeof or;
  readonly not: typeof not;
  readonly eq: Compare<Fields, FilterFieldType>;
  readonly ne: Compare<Fields, FilterFieldType>;
  readonly gt: Compare<Fields, Ordered>;
  readonly gte: Compare<Fields, Ordered>;
  readonly lt: Compare<Fields, Ordered>;
  readonly lte: Compare<Fields, Ordered>;
  readonly isIn: CompareList<Fields>;
  readonly notIn: CompareList<Fields>;
  readonly contains: Compare<Fields, FilterFieldType>;
  readonly exists: (field: FieldOf<Fields>, value?: boolean) => Filter;
}

type Ordered = "int" | "float" | "date";
type Compare<Fields extends FieldTypes, Type extends FilterFieldType> = <Name extends FieldOf<Fields, Type>>(
  field: Name,
  value: ValueOf[Fields[Name] & Type],
) => Filter;
type CompareList<Fields extends FieldTypes> = <Name extends FieldOf<Fields>>(
  field: Name,
  value: NonEmpty<ValueOf[Fields[Name]]>,
) => Filter;

const FILTERS = { and, or, not, eq, ne, gt, gte, lt, lte, isIn, notIn, contains, exists };

/** @returns the functions above, which take only the fields of the map and values of their types */
export const filtersFor = <Fields extends FieldTypes>(): FiltersFor<Fields> => FILTERS;
