import type { FieldType, FilterField } from "../../src/catalog/corpus.ts";
import { FILTER_OPERATORS, type FilterOperator } from "../../src/plan/resolve-filter.ts";
import { EVERY_FIELD } from "./every-field.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** What a document can have in a field. */
export const STATES = ["missing", "null", "empty", "value"] as const;
export type State = (typeof STATES)[number];

/** Small pools, so that filters and documents meet: equal values, neighbours, and the edges of each type. */
const POOL = {
  keyword: ["", "a", "b", "A", "a'b", "NULL", "%", "\u00e9", "e\u0301", "\u65e5\u672c", "\uff5e", "\u{1f600}"],
  text: ["", "100% a_b", "back\\slash", 'say "b"', "\u6f22\u5b57 %", "\u{1f600} ends", "A", "a'b", "a"],
  int: [0, -1, 1, 1999, 2023, 2147483648, 9007199254740991, -9007199254740991],
  float: [0, -0, 0.1, -0.5, 4.5, 1e308, -1e308, 5e-324],
  bool: [true, false],
  date: [
    "2023-05-01",
    "2023-05-01T00:00:00Z",
    "2023-05-01T02:00:00+02:00",
    1682899200000,
    "2023-05-01T00:00:00.001Z",
    "1999-12-31T23:59:59Z",
    "2000-02-29T12:00:00-08:00",
    "1969-12-31T23:59:59.999Z",
    -1,
    0,
  ],
} satisfies Record<FieldType, readonly (string | number | boolean)[]>;

const NEEDLES = ["", "%", "_", "\\", "a", "A", "a'b", "\u6f22", "\u{1f600}", "ends", '"', "nowhere"];

/** Operators that only some fields have (RCP §8); the others are for all. */
export function isAllowed(operator: FilterOperator, field: FilterField): boolean {
  if (["gt", "gte", "lt", "lte"].includes(operator)) return ["int", "float", "date"].includes(field.type);
  return operator !== "contains" || field.array || field.type === "text";
}

export const allowedLeaves: readonly (readonly [FilterOperator, FilterField])[] = [...EVERY_FIELD.values()].flatMap(
  (field) => [...FILTER_OPERATORS].filter((operator) => isAllowed(operator, field)).map((op) => [op, field] as const),
);

/** A wire filter of exactly that depth; a leaf has depth 1. */
export function randomFilter(random: SeededRandom, depth: number): unknown {
  if (depth === 1) return randomLeaf(random);
  const combinator = random.pick(["and", "or", "not"] as const);
  if (combinator === "not") return { not: randomFilter(random, depth - 1) };
  const children = [randomFilter(random, depth - 1)];
  for (let more = random.integer(0, 2); more > 0; more--) {
    const child = randomFilter(random, random.integer(1, Math.min(depth - 1, 2)));
    children.splice(random.integer(0, children.length), 0, child);
  }
  return { [combinator]: children };
}

function randomLeaf(random: SeededRandom): unknown {
  const [op, field] = random.pick(allowedLeaves);
  const leaf = { field: field.name, op };
  switch (op) {
    case "exists":
      return random.pick([leaf, { ...leaf, value: true }, { ...leaf, value: false }]);
    case "in":
    case "nin":
      return { ...leaf, value: randomList(random, field, 1) };
    case "contains":
      return { ...leaf, value: random.pick<string | number | boolean>(field.array ? POOL[field.type] : NEEDLES) };
    default:
      return { ...leaf, value: random.pick<string | number | boolean>(POOL[field.type]) };
  }
}

function randomList(random: SeededRandom, field: FilterField, min: number): (string | number | boolean)[] {
  return Array.from({ length: random.integer(min, 4) }, () => random.pick<string | number | boolean>(POOL[field.type]));
}

/** A document's meta, each field in a random state. */
export function randomMeta(random: SeededRandom): Record<string, unknown> {
  const meta: Record<string, unknown> = {};
  for (const field of EVERY_FIELD.values()) {
    switch (random.pick(field.array ? STATES : (["missing", "null", "value", "value"] as const))) {
      case "missing":
        break;
      case "null":
        meta[field.name] = null;
        break;
      case "empty":
        meta[field.name] = [];
        break;
      case "value":
        meta[field.name] = field.array ? randomList(random, field, 1) : random.pick<unknown>(POOL[field.type]);
    }
  }
  return meta;
}

export function stateOf(field: FilterField, meta: Readonly<Record<string, unknown>>): State {
  if (!Object.hasOwn(meta, field.name)) return "missing";
  const value = meta[field.name];
  if (value === null) return "null";
  return Array.isArray(value) && value.length === 0 ? "empty" : "value";
}
