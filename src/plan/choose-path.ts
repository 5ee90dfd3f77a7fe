import type { Corpus } from "../catalog/corpus.ts";
import type { ResolvedFilter } from "./filter.ts";
import type { RetrievalPlan } from "./retrieval-plan.ts";

/** A walk through a corpus's graph. */
export interface GraphWalk {
  /** Candidates that it keeps. */
  readonly efSearch: number;
  /** Whether it goes on from them until enough rows pass. What it must remember for that is a sixth of what a walk takes. */
  readonly isIterative: boolean;
}

/** How the dense list is found: by looking at every chunk that passes, or by the corpus's own graph (DESIGN section 4). */
export type DensePath = { readonly why: string } & (
  | { readonly search: "exact" }
  | ({ readonly search: "graph" } & GraphWalk)
);

/** What of a plan decides. */
export type Asked = Pick<RetrievalPlan, "indexVersion" | "seed" | "filter" | "k" | "candidateK">;

/** Where one path becomes better than the other. */
export interface PathSettings {
  /** Corpora of at most so many live chunks are always searched exactly. */
  readonly ownPartitionFrom: number;
  readonly graph: {
    /** Chunks that pass a filter are looked at one by one up to so many, or up to this share of the corpus. */
    readonly exactUpTo: number;
    readonly exactShare: number;
    /** Candidates that a walk through the graph keeps, at least. */
    readonly efSearch: number;
  };
}

const exact = (why: string): DensePath => ({ search: "exact", why });

/** How many chunks may pass a filter before the graph is better at finding the nearest of them. */
export const exactLimit = (total: number, { graph }: PathSettings): number =>
  Math.max(graph.exactUpTo, Math.floor(graph.exactShare * total));

/** @returns undefined where it is for the number of chunks that pass the filter to say */
export function pathWithoutCount(asked: Asked, { graphChunks }: Corpus, settings: PathSettings): DensePath | undefined {
  const { indexVersion, seed, filter } = asked;
  if (graphChunks === undefined) return exact("the corpus has no graph");
  if (indexVersion !== undefined) return exact("a version is read exactly as it was");
  if (seed !== undefined) return exact("a seed asks for the same answer each time");
  if (graphChunks <= settings.ownPartitionFrom) return exact(`the corpus has only ${graphChunks} chunks`);
  return filter === undefined ? byGraph(`the corpus has ${graphChunks} chunks`, asked, settings) : undefined;
}

/**
 * The path for about `passing` of `total` chunks.
 *
 * @returns undefined where so few more than the limit pass, or the estimate is of so little worth, that they must be counted
 */
export function pathByEstimate(
  passing: number,
  total: number,
  asked: Asked & { readonly filter: ResolvedFilter },
  settings: PathSettings,
): DensePath | undefined {
  const limit = exactLimit(total, settings);
  if (passing <= limit) return exact(`about ${passing} of ${total} chunks pass the filter`);
  if (passing <= 2 * limit || !isKnown(asked.filter)) return undefined;
  return byGraph(`about ${passing} of ${total} chunks pass the filter`, asked, settings);
}

/** @param counted how many pass, up to one more than the limit */
export function pathByCount(counted: number, total: number, asked: Asked, settings: PathSettings): DensePath {
  const limit = exactLimit(total, settings);
  if (counted <= limit) return exact(`${counted} of ${total} chunks pass the filter`);
  return byGraph(`more than ${limit} of ${total} chunks pass the filter`, asked, settings);
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

/** Beyond ten hits, how many more candidates a walk keeps for each: at 40,000 sentences .995 of a hundred are found with 600, .95 with 200. */
const KEPT_PER_HIT = 7;

/** Behind a filter that leaves out what is nearest, a walk has more to pass by. */
const TIMES_BEHIND_FILTER = 2;

/** A list for stages beyond recall is longer than what is shown of it. */
const KEPT_PER_CANDIDATE = 2;

/** pgvector takes no more. */
const MOST_KEPT = 1_000;

function byGraph(why: string, { k, candidateK, filter }: Asked, { graph }: PathSettings): DensePath {
  const kept = Math.max(graph.efSearch, KEPT_PER_HIT * k, KEPT_PER_CANDIDATE * candidateK);
  const isIterative = filter !== undefined;
  const efSearch = Math.min(MOST_KEPT, isIterative ? TIMES_BEHIND_FILTER * kept : kept);
  return { search: "graph", efSearch, isIterative, why };
}

/** A walk that another one must not contradict. */
export const widerWalk = ({ efSearch, isIterative }: GraphWalk): GraphWalk => ({
  efSearch: Math.min(MOST_KEPT, 2 * efSearch),
  isIterative,
});

/** Of how many nearest chunks the dimension is told: more reach beyond a cluster, fewer say little. */
export const NEIGHBOURS = 20;

/**
 * Where what a graph led to is not to be trusted: in many dimensions, all chunks are about as far from the query, and a graph's links do not
 * tell the nearest from the next. Random directions have 17 and more, questions on a corpus's subjects mostly less than 10.
 */
const SURE_DIMENSIONS = 10;
const MOST_DIMENSIONS = 16;

/**
 * The same of those from the last hit on. A few near chunks before many far ones have few dimensions together: so lies an island of one cluster that was linked into another
 * when the graph was built, and its cluster is not found. From the last hit on those have 60 and more, and what lies around questions on a corpus's subjects mostly less than 20.
 */
const MOST_DIMENSIONS_FURTHER_ON = 32;

/** An island may hold as many hits as are asked for, if they are few. */
const FEWEST_HITS = 10;

/**
 * How far to trust what a graph led to, by the local dimension of the chunks around the query. Between the bounds, or behind a filter, the walk may have missed
 * some, or seen one of two clusters between which the query lies.
 *
 * @param similarities to the query, best first
 */
export function trustInGraph(
  similarities: readonly number[],
  { filter, k }: Pick<Asked, "filter" | "k">,
): "sure" | "unsure" | "none" {
  if (dimensionFrom(Math.max(FEWEST_HITS, k), similarities) > MOST_DIMENSIONS_FURTHER_ON) return "none";
  const dimension = localDimension(similarities.slice(0, NEIGHBOURS));
  if (dimension === undefined) return "unsure";
  if (dimension > MOST_DIMENSIONS) return "none";
  return dimension <= SURE_DIMENSIONS && filter === undefined ? "sure" : "unsure";
}

/** Where an eighth passes, and whatever lies around the query passes as often, the nearest are at less than that many times the distance in three dimensions and more. */
const TIMES_AS_FAR = 2;

/**
 * Whether a filter has left out what is around the query: of what is then far from it in several directions, a walk finds one.
 *
 * @param passing similarity of one of the nearest that pass
 * @param any that of the chunk with the same place among all
 */
export const liesElsewhere = (passing: number, any: number): boolean => 1 - passing > TIMES_AS_FAR * (1 - any);

/**
 * How many dimensions the neighbours of a query fill, by how fast their number grows with the distance; undefined where too few are at different distances.
 *
 * @see Amsaleg et al., "Estimating Local Intrinsic Dimensionality", KDD 2015: the maximum likelihood estimator, less its bias for few neighbours
 */
function localDimension(similarities: readonly number[]): number | undefined {
  const distances = [...new Set(similarities)].map((similarity) => Math.max(1 - similarity, Number.EPSILON));
  const furthest = distances.at(-1) ?? 0;
  const nearer = distances.slice(0, -1);
  if (nearer.length < 2) return undefined;
  return (nearer.length - 1) / nearer.reduce((sum, distance) => sum + Math.log(furthest / distance), 0);
}

/**
 * The same by what lies from the last hit on to twice its rank, or as far as chunks were found: a rank grows with the distance to the power of the dimension. None where all are as far.
 *
 * @see Houle, Kashima, Nett, "Generalized Expansion Dimension", ICDM Workshops 2012; of each rank, summed up
 */
function dimensionFrom(hits: number, similarities: readonly number[]): number {
  const last = Math.min(2 * hits, similarities.length);
  const first = Math.min(hits, Math.floor((2 / 3) * last));
  const distance = (rank: number): number => Math.max(1 - (similarities[rank - 1] ?? 1), Number.EPSILON);
  let [ranks, distances] = [0, 0];
  for (let rank = Math.max(first, 1); rank < last; rank++) {
    ranks += Math.log(last / rank);
    distances += Math.log(distance(last) / distance(rank));
  }
  return distances > 0 ? ranks / distances : 0;
}
