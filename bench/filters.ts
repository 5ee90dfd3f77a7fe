import { filterFields } from "../src/plan/filter-fields.ts";
import { SeededRandom } from "../test/support/seeded-random.ts";
import { cosine, type Vectors } from "./vectors.ts";

/** The filters of the matrix: what they ask for over the wire, and the same in SQL written by hand. */

export const FIELDS = filterFields({ kind: "keyword", rank: "int", tags: "keyword[]", note: "text", side: "keyword" });
export const FIELD_DECLARATIONS = { kind: "keyword", rank: "int", tags: "keyword[]", note: "text", side: "keyword" };

/** Of 2,000 chunks, how many are of a kind; the others are of none of these. */
const KINDS = { half: 1_000, "one in 20": 100, "one in 200": 10, "one in 2,000": 1 } as const;
const PERIOD = 2_000;
/** Has no common divisor with the period, so the kinds of chunks in a row are mixed. */
const STRIDE = 1_237;
const RANKS = 1_000_000;
const TAGS = 20;

/** A chunk's values. All but `side` have nothing to do with where its vector lies. */
export interface Values {
  readonly kind: string;
  /** From 0 up to a million, evenly. */
  readonly rank: number;
  /** One of twenty, beside one that all have. */
  readonly tag: string;
  readonly note: string;
  /** Which of the first two chunks it is nearer to. */
  readonly side: string;
}

export function valuesOf(chunk: number, vector: Float32Array, vectors: Vectors): Values {
  const random = new SeededRandom(chunk);
  return {
    kind: kindOf((chunk * STRIDE) % PERIOD),
    rank: random.integer(0, RANKS - 1),
    tag: `tag ${random.integer(1, TAGS)}`,
    note: `filed under section ${random.integer(1, TAGS)} of the handbook`,
    side: sideOf(vector, vectors),
  };
}

function kindOf(place: number): string {
  let from = 0;
  for (const [kind, count] of Object.entries(KINDS).reverse()) {
    if (place < from + count) return kind;
    from += count;
  }
  return "none of these";
}

const sideOf = (vector: Float32Array, { sides: [first, second] }: Vectors): string =>
  cosine(vector, first) > cosine(vector, second) ? "first" : "second";

export interface MatrixFilter {
  readonly name: string;
  /** Of the chunks, how many pass. */
  readonly share: number;
  /** For a question: the wire form, and the condition on `pgrcp.chunks`. */
  for(question: Float32Array, vectors: Vectors): { readonly wire: object | undefined; readonly where: string };
}

const same = (name: string, share: number, wire: object | undefined, where: string): MatrixFilter => ({
  name,
  share,
  for: () => ({ wire, where }),
});

const byKind = (kind: keyof typeof KINDS): MatrixFilter =>
  same(`kind = ${kind}`, KINDS[kind] / PERIOD, { field: "kind", op: "eq", value: kind }, `f_kind = '${kind}'`);

function byRank(share: number): MatrixFilter {
  const from = 300_000;
  const to = from + share * RANKS;
  const wire = {
    and: [
      { field: "rank", op: "gte", value: from },
      { field: "rank", op: "lt", value: to },
    ],
  };
  return same(`rank from … to ${share * 100} %`, share, wire, `f_rank >= ${from} and f_rank < ${to}`);
}

const farSide: MatrixFilter = {
  name: "side = the one that the question is not on",
  share: 0.5,
  for(question, vectors) {
    const side = sideOf(question, vectors) === "first" ? "second" : "first";
    return { wire: { field: "side", op: "eq", value: side }, where: `f_side = '${side}'` };
  },
};

export const FILTERS: readonly MatrixFilter[] = [
  same("none", 1, undefined, "true"),
  ...(Object.keys(KINDS) as (keyof typeof KINDS)[]).map(byKind),
  ...[0.5, 0.05, 0.005, 0.0005].map(byRank),
  same("tags contain", 1 / TAGS, { field: "tags", op: "contains", value: "tag 7" }, "'tag 7' = any (f_tags)"),
  same(
    "note contains",
    1 / TAGS,
    { field: "note", op: "contains", value: "section 7 of" },
    "f_note like '%section 7 of%'",
  ),
  farSide,
];
