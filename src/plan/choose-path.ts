import type { Corpus } from "../catalog/corpus.ts";
import type { ResolvedFilter } from "./filter.ts";
import type { RetrievalPlan } from "./retrieval-plan.ts";

/** How the dense list is found: by looking at every chunk that passes, or by the corpus's own graph (DESIGN section 4). */
export type DensePath = { readonly why: string } & (
  | { readonly search: "exact" }
  | { readonly search: "graph"; readonly efSearch: number }
);

/** Where one path becomes better than the other. */
export interface PathSettings {
  /** Corpora of at most so many live chunks are always searched exactly. */
  readonly ownPartitionFrom: number;
  readonly graph: {
    /** Chunks that pass a filter are looked at one by one up to so many, or up to this share of the corpus. */
    readonly exactUpTo: number;
    readonly exactShare: number;
    /** Candidates that a walk through the graph keeps. */
    readonly efSearch: number;
  };
}

const exact = (why: string): DensePath => ({ search: "exact", why });

/** How many chunks may pass a filter before the graph is better at finding the nearest of them. */
export const exactLimit = (total: number, { graph }: PathSettings): number =>
  Math.max(graph.exactUpTo, Math.floor(graph.exactShare * total));

/** @returns undefined where it is for the number of chunks that pass the filter to say */
export function pathWithoutCount(
  { indexVersion, seed, filter }: Pick<RetrievalPlan, "indexVersion" | "seed" | "filter">,
  { graphChunks }: Corpus,
  settings: PathSettings,
): DensePath | undefined {
  if (graphChunks === undefined) return exact("the corpus has no graph");
  if (indexVersion !== undefined) return exact("a version is read exactly as it was");
  if (seed !== undefined) return exact("a seed asks for the same answer each time");
  if (graphChunks <= settings.ownPartitionFrom) return exact(`the corpus has only ${graphChunks} chunks`);
  return filter === undefined ? byGraph(`the corpus has ${graphChunks} chunks`, settings) : undefined;
}

/**
 * The path for about `passing` of `total` chunks.
 *
 * @returns undefined where so few more than the limit pass, or the estimate is of so little worth, that they must be counted
 */
export function pathByEstimate(
  passing: number,
  total: number,
  filter: ResolvedFilter,
  settings: PathSettings,
): DensePath | undefined {
  const limit = exactLimit(total, settings);
  if (passing <= limit) return exact(`about ${passing} of ${total} chunks pass the filter`);
  if (passing <= 2 * limit || !isKnown(filter)) return undefined;
  return byGraph(`about ${passing} of ${total} chunks pass the filter`, settings);
}

/** @param counted how many pass, up to one more than the limit */
export function pathByCount(counted: number, total: number, settings: PathSettings): DensePath {
  const limit = exactLimit(total, settings);
  if (counted <= limit) return exact(`${counted} of ${total} chunks pass the filter`);
  return byGraph(`more than ${limit} of ${total} chunks pass the filter`, settings);
}

/** Whether statistics of one column tell how many pass: not of several columns together, and not what a text contains. */
function isKnown(filter: ResolvedFilter): boolean {
  if (filter.kind === "not") return isKnown(filter.of);
  if (filter.kind === "contains") return filter.field.array;
  if (filter.kind === "and") return isRange(filter.of);
  return filter.kind !== "or";
}

/** Whether two conditions are the two ends of a range of one column, which Postgres estimates as such. */
function isRange([first, second, ...others]: readonly ResolvedFilter[]): boolean {
  if (first?.kind !== "compare" || second?.kind !== "compare" || others.length > 0) return false;
  const isOneColumn = first.field.name === second.field.name && !first.field.array;
  return (
    isOneColumn &&
    [first.op, second.op]
      .map((op) => ENDS[op])
      .toSorted()
      .join(" ") === "lower upper"
  );
}

const ENDS = { gt: "lower", gte: "lower", lt: "upper", lte: "upper", eq: "no end", ne: "no end" } as const;

const byGraph = (why: string, { graph }: PathSettings): DensePath => ({
  search: "graph",
  efSearch: graph.efSearch,
  why,
});

/** Of the nearest chunks, how many two walks must agree on. */
export const AGREED = 20;

/**
 * What the narrow one of two walks keeps. Where it finds other nearest chunks than the wide one, the query lies where the graph does not
 * lead (far from every chunk, say), and a wider walk might find others again: then all chunks are looked at.
 */
export const narrowSearch = (efSearch: number): number => Math.max(1, Math.ceil(efSearch / 4));

/** Around questions on a corpus's subjects there were 4 to 24, around others 16 to 50, around random directions 40 and more. */
const MOST_DIMENSIONS = 16;

/**
 * Whether what a wide walk found is to be trusted: a narrow one found the same to begin with, and the chunks around the query lie in so
 * few dimensions that this is no chance. Chunks are compared by how near they are, since which of several equal ones come is nobody's choice.
 *
 * @param narrow similarities to the query, best first, like `wide`
 */
export function leadsToNearest(narrow: readonly number[], wide: readonly number[]): boolean {
  const isSame =
    narrow.length === Math.min(AGREED, wide.length) && narrow.every((similarity, place) => similarity === wide[place]);
  return isSame && localDimension(wide) <= MOST_DIMENSIONS;
}

/**
 * How many dimensions the neighbours of a query fill, by how fast their number grows with the distance: in many, all are about as far, and
 * a graph's links do not tell the nearest from the next.
 *
 * @see Amsaleg et al., "Estimating Local Intrinsic Dimensionality", KDD 2015: the maximum likelihood estimator
 */
function localDimension(similarities: readonly number[]): number {
  const distances = [...new Set(similarities)].map((similarity) => Math.max(1 - similarity, Number.EPSILON));
  const furthest = distances.at(-1) ?? 0;
  const nearer = distances.slice(0, -1);
  if (nearer.length === 0) return 0;
  return nearer.length / nearer.reduce((sum, distance) => sum + Math.log(furthest / distance), 0);
}
