import type { JSONObject } from "@modelcontextprotocol/server";
import { invalidParams } from "../../protocol/errors.ts";
import { isObject, type Params, readObject } from "../../protocol/params.ts";

/** Filters as a model writes them: by field, each a value, or an object of comparisons that must all hold. */

/** What values of each advertised type are (RCP §8). */
const VALUES: Readonly<Record<string, JSONObject>> = {
  keyword: { type: "string" },
  text: { type: "string" },
  int: { type: "integer" },
  float: { type: "number" },
  bool: { type: "boolean" },
  date: { type: "string", description: "RFC 3339, such as 2026-01-31 or 2026-01-31T12:00:00Z" },
};

const ORDERED: ReadonlySet<string> = new Set(["int", "float", "date"]);

/** @param fields name to type, as the `filter` capability has them */
export function filtersSchema(fields: Readonly<Record<string, string>>): JSONObject {
  const properties = Object.fromEntries(Object.entries(fields).map(([name, type]) => [name, fieldSchema(type)]));
  const description =
    "Only passages of documents for which all of this holds. Of each field a value that it must have, or an object of comparisons.";
  return { type: "object", description, properties, additionalProperties: false };
}

function fieldSchema(type: string): JSONObject {
  const value = VALUES[type] ?? {};
  const several = { type: "array", items: value, minItems: 1 };
  const comparisons = {
    ne: value,
    ...(ORDERED.has(type) && { gt: value, gte: value, lt: value, lte: value }),
    ...(type === "text" && { contains: value }),
    in: several,
    nin: several,
    exists: { type: "boolean" },
  };
  return { anyOf: [value, { type: "object", properties: comparisons, additionalProperties: false, minProperties: 1 }] };
}

/**
 * The argument `filters` as the filter of a retrieve, which judges names, comparisons and values.
 *
 * @returns undefined when nothing is asked for
 * @throws RpcError -32602 when it is not an object
 */
export function wireFilter(given: Params): object | undefined {
  const filters = readObject(given, "filters") ?? {};
  const and = Object.entries(filters).flatMap(([field, asked]) => {
    if (asked === null) return [];
    if (!isObject(asked)) return [{ field, op: "eq", value: asked }];
    const comparisons = Object.entries(asked);
    if (comparisons.length > 0) return comparisons.map(([op, value]) => ({ field, op, value }));
    throw invalidParams({ field: "filters", detail: "a field has a value, or an object of at least one comparison" });
  });
  return and.length === 0 ? undefined : { and };
}
