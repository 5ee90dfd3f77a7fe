import type { Corpus } from "../catalog/corpus.ts";
import { type GraphWalk, liesElsewhere, trustInGraph, widerWalk } from "../plan/choose-path.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import { chunksBeyond, chunksByGraph, type DenseRow, searchGraph } from "../sql/recall.ts";
import { type RetrievalContext, statementLimits } from "./context.ts";

/** Chunks that the middle of a cluster is told by, and nearer ones than which must not be found elsewhere. */
const NEAREST = 10;

const none = [] as const;

/** Candidates that a walk to the other side keeps. */
const KEPT_BEYOND = 20;

/**
 * Whether a walk's chunks are the nearest, as far as can be told without looking at all. Where their dimension leaves it open, neither a wider walk nor
 * one to the other side of the query may find a nearer one, nor may a filter have left out all that is around it. These may see a later state of the
 * corpus: then one more list is looked up exactly.
 *
 * @param found best first, at least ten
 */
export async function isNearest(
  found: readonly DenseRow[],
  walk: GraphWalk,
  plan: Pick<RetrievalPlan, "filter" | "k">,
  corpus: Corpus,
  vector: Float32Array,
  context: RetrievalContext,
): Promise<boolean> {
  const trust = trustInGraph(
    found.map(({ similarity }) => similarity),
    plan,
  );
  const wider = widerWalk(walk);
  if (trust !== "unsure" || wider.efSearch === walk.efSearch) return trust === "sure";
  const nearest = found.slice(0, Math.max(NEAREST, plan.k));
  const middle = nearest.slice(0, NEAREST).map(({ chunkNo }) => chunkNo);
  // Of fewer chunks than are live there, it would say too little.
  const narrow = searchGraph({ efSearch: KEPT_BEYOND, isIterative: true });
  // Without a filter all that is around is what was found.
  const around =
    plan.filter === undefined ? none : ([narrow, chunksByGraph(corpus, vector, undefined, NEAREST)] as const);
  const statements = [
    narrow,
    chunksBeyond(corpus, vector, middle, plan.filter, NEAREST),
    searchGraph(wider),
    chunksByGraph(corpus, vector, plan.filter, nearest.length),
    ...around,
  ] as const;
  const { database, access } = context;
  const [, beyond, , wide, , any = nearest] = await database.readCorpus(
    { corpus },
    access,
    statements,
    statementLimits(context),
  );
  const hasMoved = wide.length < nearest.length || any.length < NEAREST;
  if (hasMoved || liesElsewhere(similarityAt(nearest), similarityAt(any))) return false;
  const known = new Set(nearest.map(({ chunkNo }) => chunkNo));
  const furthest = nearest.at(-1)?.similarity ?? 1;
  return [...beyond, ...wide].every(({ chunkNo, similarity }) => known.has(chunkNo) || similarity <= furthest);
}

const similarityAt = (rows: readonly DenseRow[]): number => rows[NEAREST - 1]?.similarity ?? 1;
