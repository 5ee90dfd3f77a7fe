import type { FieldType, FilterField, FilterFields } from "../catalog/corpus.ts";
import { hasNul, isWellFormed } from "../protocol/text.ts";
import type { FilterScalar } from "./filter.ts";
import { parseDate } from "./parse-date.ts";

/** A field's type as the configuration writes it: `keyword`, or `keyword[]` for a list of them. */
export type FieldDeclaration = FieldType | `${FieldType}[]`;

/** What a value of each type looks like, for error details. */
export const VALUE_SHAPE = {
  keyword: "a string of at most 1024 bytes, without U+0000 and lone surrogates",
  text: "a string without U+0000 and lone surrogates",
  int: "an integer between -(2^53 - 1) and 2^53 - 1",
  float: "a finite number",
  bool: "a JSON boolean",
  date: "an RFC 3339 date-time with offset, a full date, or integer milliseconds since 1970",
} as const satisfies Record<FieldType, string>;

const ARRAY_SUFFIX = "[]";

/** The filter fields of a configuration, in its order, each with its column on `pgrcp.chunks`. */
export function filterFields(declarations: Readonly<Record<string, FieldDeclaration>>): FilterFields {
  const fields = new Map<string, FilterField>();
  for (const [name, declaration] of Object.entries(declarations)) {
    const array = declaration.endsWith(ARRAY_SUFFIX);
    const type = (array ? declaration.slice(0, -ARRAY_SUFFIX.length) : declaration) as FieldType;
    fields.set(name, Object.freeze({ name, type, array, column: `f_${name}` }));
  }
  return fields;
}

/**
 * Field name to type, as the `filter` capability shows it. RCP has no array types: a list of keywords is advertised as
 * `keyword`.
 *
 * @see RCP §6, §8
 */
export function advertisedFields(fields: FilterFields): Record<string, FieldType> {
  return Object.fromEntries([...fields.values()].map((field) => [field.name, field.type]));
}

/**
 * One JSON value as a column of that type holds it; dates become epoch milliseconds.
 *
 * @returns undefined when the value does not fit; nothing is coerced (RCP §4.6)
 */
export function scalarOf(type: FieldType, value: unknown): FilterScalar | undefined {
  switch (type) {
    case "keyword":
    case "text":
      return typeof value === "string" && isWellFormed(value) && !hasNul(value) ? value : undefined;
    case "int":
      return typeof value === "number" && Number.isSafeInteger(value) ? value : undefined;
    case "float":
      return typeof value === "number" && Number.isFinite(value) ? value : undefined;
    case "bool":
      return typeof value === "boolean" ? value : undefined;
    case "date":
      return parseDate(value);
  }
}
