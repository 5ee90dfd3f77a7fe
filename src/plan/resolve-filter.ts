import type { FieldType, FilterField, FilterFields } from "../catalog/corpus.ts";
import { invalidParams } from "../protocol/errors.ts";
import { isObject, member, type Params } from "../protocol/params.ts";
import { isWellFormed, utf8Bytes } from "../protocol/text.ts";
import type { FilterScalar, ResolvedFilter } from "./filter.ts";
import { scalarOf, VALUE_SHAPE } from "./filter-fields.ts";

export type FilterOperator = "eq" | "ne" | "gt" | "gte" | "lt" | "lte" | "in" | "nin" | "contains" | "exists";

/** RCP §8: every operator there is, in the spec's order. */
export const FILTER_OPERATORS: ReadonlySet<FilterOperator> = new Set<FilterOperator>([
  "eq",
  "ne",
  "gt",
  "gte",
  "lt",
  "lte",
  "in",
  "nin",
  "contains",
  "exists",
]);

/** The `filter` section of the configuration. */
export interface FilterLimits {
  /** Combinators around the deepest leaf. */
  readonly maxDepth: number;
  /** Combinators and leaves together. */
  readonly maxNodes: number;
  /** Values of an `in` or `nin`. */
  readonly maxListLength: number;
  /** UTF-8 bytes of one string value. */
  readonly maxValueBytes: number;
}

const COMBINATORS = ["and", "or", "not"] as const;
const ORDERED_TYPES: ReadonlySet<FieldType> = new Set(["int", "float", "date"]);

/** `data.option` names an operator that is not advertised; longer text than this is nobody's operator and is not repeated. */
const MAX_OPTION_BYTES = 64;

/**
 * Checks a wire filter against the advertised fields and operators and types its values.
 *
 * The comparison of an array field holds when it holds for one of its elements; `contains` on one is membership, and on a
 * text field it is a substring. Unknown members of a node are ignored (RCP §4.6), inherited ones are never read.
 *
 * @param node `params.filter`; any JSON value, however deep
 * @param operators the advertised ones
 * @returns undefined when the filter is absent or null
 * @throws RpcError -32602; `field` is the path of the first fault, in reading order; `option` an unadvertised operator
 * @see RCP §8; DESIGN rulings 1, 4, 13, 14, 15
 */
export function resolveFilter(
  node: unknown,
  fields: FilterFields,
  operators: ReadonlySet<string>,
  limits: FilterLimits,
): ResolvedFilter | undefined {
  if (node === undefined || node === null) return undefined;
  let nodes = 0;

  // The depth check comes first, so the recursion is never deeper than maxDepth.
  const resolve = (node: unknown, path: string, depth: number): ResolvedFilter => {
    if (depth > limits.maxDepth) {
      throw invalidParams({ field: path, detail: `a filter nests at most ${limits.maxDepth} deep (filter.maxDepth)` });
    }
    nodes += 1;
    if (nodes > limits.maxNodes) {
      throw invalidParams({
        field: "filter",
        detail: `a filter has at most ${limits.maxNodes} nodes (filter.maxNodes)`,
      });
    }
    if (!isObject(node)) throw invalidParams({ field: path, detail: "a filter node is an object" });
    const combinators = COMBINATORS.filter((name) => Object.hasOwn(node, name));
    const leaf = Object.hasOwn(node, "field") || Object.hasOwn(node, "op");
    const [combinator] = combinators;
    if (combinators.length + (leaf ? 1 : 0) !== 1) {
      throw invalidParams({ field: path, detail: "a filter node has exactly one of: and, or, not, field with op" });
    }
    if (combinator === undefined) return resolveLeaf(node, path, fields, operators, limits);
    if (combinator === "not") return { kind: "not", of: resolve(node.not, `${path}.not`, depth + 1) };
    const children = node[combinator];
    if (!Array.isArray(children) || children.length === 0) {
      throw invalidParams({
        field: `${path}.${combinator}`,
        detail: `${combinator} needs a list of at least one filter`,
      });
    }
    return {
      kind: combinator,
      of: children.map((child, index) => resolve(child, `${path}.${combinator}[${index}]`, depth + 1)),
    };
  };
  return resolve(node, "filter", 0);
}

function resolveLeaf(
  leaf: Params,
  path: string,
  fields: FilterFields,
  operators: ReadonlySet<string>,
  limits: FilterLimits,
): ResolvedFilter {
  const name = member(leaf, "field");
  if (typeof name !== "string" || name === "") {
    throw invalidParams({ field: path, detail: "field is the name of an advertised filter field" });
  }
  const op = resolveOperator(member(leaf, "op"), path, operators);
  const field = fields.get(name);
  if (field === undefined) {
    throw invalidParams({
      field: `${path}.field`,
      detail: "not an advertised filter field; see the filter capability",
    });
  }

  const valuePath = `${path}.value`;
  if (op === "exists") {
    const present = Object.hasOwn(leaf, "value") ? leaf.value : true;
    if (typeof present !== "boolean") throw invalidParams({ field: valuePath, detail: "exists takes a JSON boolean" });
    return { kind: "exists", field, present };
  }
  if (!Object.hasOwn(leaf, "value")) throw invalidParams({ field: valuePath, detail: `${op} needs a value` });
  const { value } = leaf;

  switch (op) {
    case "in":
    case "nin":
      return { kind: "member", op, field, values: resolveList(op, field, value, valuePath, limits) };
    case "contains":
      if (!field.array && field.type !== "text") {
        throw invalidParams({
          field: `${path}.op`,
          detail: `contains is for text and array fields; ${field.name} is a single ${field.type}`,
        });
      }
      return { kind: "contains", field, value: resolveScalar(op, field, value, valuePath, limits) };
    case "gt":
    case "gte":
    case "lt":
    case "lte":
      if (!ORDERED_TYPES.has(field.type)) {
        throw invalidParams({
          field: `${path}.op`,
          detail: `${op} is for int, float and date fields; ${field.name} is of type ${field.type}`,
        });
      }
      return { kind: "compare", op, field, value: resolveScalar(op, field, value, valuePath, limits) };
    case "eq":
    case "ne":
      return { kind: "compare", op, field, value: resolveScalar(op, field, value, valuePath, limits) };
  }
}

function resolveOperator(op: unknown, path: string, operators: ReadonlySet<string>): FilterOperator {
  if (isOperator(op) && operators.has(op)) return op;
  const field = `${path}.op`;
  const detail = `op is one of: ${[...operators].join(", ")}`;
  const named = typeof op === "string" && op !== "" && isWellFormed(op) && utf8Bytes(op) <= MAX_OPTION_BYTES;
  throw invalidParams(named ? { field, option: op, detail } : { field, detail });
}

function resolveList(
  op: FilterOperator,
  field: FilterField,
  value: unknown,
  path: string,
  limits: FilterLimits,
): readonly FilterScalar[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > limits.maxListLength) {
    throw invalidParams({
      field: path,
      detail: `${op} needs a list of 1 to ${limits.maxListLength} values (filter.maxListLength)`,
    });
  }
  return value.map((item) => resolveScalar(op, field, item, path, limits));
}

function resolveScalar(
  op: FilterOperator,
  field: FilterField,
  value: unknown,
  path: string,
  limits: FilterLimits,
): FilterScalar {
  if (typeof value === "string" && utf8Bytes(value) > limits.maxValueBytes) {
    throw invalidParams({
      field: path,
      detail: `a filter value has at most ${limits.maxValueBytes} bytes (filter.maxValueBytes)`,
    });
  }
  const scalar = scalarOf(field.type, value);
  if (scalar !== undefined) return scalar;
  throw invalidParams({
    field: path,
    detail: `${field.name} is of type ${field.type}, so ${op} needs ${VALUE_SHAPE[field.type]}`,
  });
}

const isOperator = (op: unknown): op is FilterOperator => {
  const known: ReadonlySet<unknown> = FILTER_OPERATORS;
  return known.has(op);
};
