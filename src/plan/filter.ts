import type { FilterField } from "../catalog/corpus.ts";

/** A scalar as the field's column compares it: int and date (epoch milliseconds) as safe integers, float as a finite number. */
export type FilterScalar = string | number | boolean;

/**
 * A filter whose names, types and limits were checked against the advertised fields: rendering it cannot fail.
 * Two-valued: a missing or null field makes every leaf false except `ne`, `nin` and `exists: false` (DESIGN ruling 13).
 */
export type ResolvedFilter =
  | { readonly kind: "and"; readonly of: readonly ResolvedFilter[] }
  | { readonly kind: "or"; readonly of: readonly ResolvedFilter[] }
  | { readonly kind: "not"; readonly of: ResolvedFilter }
  | {
      readonly kind: "compare";
      readonly op: "eq" | "ne" | "gt" | "gte" | "lt" | "lte";
      readonly field: FilterField;
      readonly value: FilterScalar;
    }
  | {
      readonly kind: "member";
      readonly op: "in" | "nin";
      readonly field: FilterField;
      readonly values: readonly FilterScalar[];
    }
  | { readonly kind: "contains"; readonly field: FilterField; readonly value: FilterScalar }
  | { readonly kind: "exists"; readonly field: FilterField; readonly present: boolean };
