import type { FilterField } from "../../src/catalog/corpus.ts";
import type { ResolvedFilter } from "../../src/plan/filter.ts";

type Meta = Readonly<Record<string, unknown>>;

/**
 * Whether a document's meta satisfies a filter, by the letter of DESIGN ruling 13: a missing or null field makes every leaf
 * false except `ne`, `nin` and `exists: false`; `not` of false is true. Reads meta, not columns, so that it shares nothing
 * with the SQL, and dates with the platform's own parser.
 */
export function evaluateFilter(filter: ResolvedFilter, meta: Meta): boolean {
  switch (filter.kind) {
    case "and":
      return filter.of.every((child) => evaluateFilter(child, meta));
    case "or":
      return filter.of.some((child) => evaluateFilter(child, meta));
    case "not":
      return !evaluateFilter(filter.of, meta);
    case "exists":
      return isPresent(filter.field, meta) === filter.present;
    case "member": {
      const found = elements(filter.field, meta).some((element) => filter.values.includes(element));
      return filter.op === "in" ? found : !found;
    }
    case "contains":
      return elements(filter.field, meta).some((element) =>
        filter.field.array ? element === filter.value : String(element).includes(String(filter.value)),
      );
    case "compare": {
      const { op, value } = filter;
      const some = (holds: (element: Scalar) => boolean) => elements(filter.field, meta).some(holds);
      switch (op) {
        case "eq":
          return some((element) => element === value);
        case "ne":
          return !some((element) => element === value);
        case "gt":
          return some((element) => element > value);
        case "gte":
          return some((element) => element >= value);
        case "lt":
          return some((element) => element < value);
        case "lte":
          return some((element) => element <= value);
      }
    }
  }
}

type Scalar = string | number | boolean;

const isPresent = (field: FilterField, meta: Meta): boolean =>
  Object.hasOwn(meta, field.name) && meta[field.name] !== null;

/** What a leaf is asked of: no value, the one value, or the list's; dates as epoch milliseconds. */
function elements(field: FilterField, meta: Meta): readonly Scalar[] {
  if (!isPresent(field, meta)) return [];
  const values = (field.array ? meta[field.name] : [meta[field.name]]) as readonly Scalar[];
  return field.type === "date" ? values.map((value) => new Date(value as string | number).getTime()) : values;
}
