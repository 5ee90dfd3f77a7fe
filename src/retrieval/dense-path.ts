import type { Corpus } from "../catalog/corpus.ts";
import { type DensePath, exactLimit, pathByCount, pathByEstimate, pathWithoutCount } from "../plan/choose-path.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import { countPassing, estimatePassing } from "../sql/recall.ts";
import { type RetrievalContext, readRows } from "./context.ts";

/**
 * Chooses how the dense list is found. Only a filter on a corpus with a graph costs something: a plan is asked for, and where that is
 * not clear, rows are counted up to the limit of exact search.
 */
export async function choosePath(
  plan: RetrievalPlan,
  corpus: Corpus,
  context: Pick<RetrievalContext, "database" | "access" | "limits" | "paths">,
): Promise<DensePath> {
  const { filter } = plan;
  const settings = context.paths;
  const settled = pathWithoutCount(plan, corpus, settings);
  if (settled !== undefined) return settled;
  const total = corpus.graphChunks;
  if (total === undefined || filter === undefined) throw new Error("nothing is left to count");
  const [estimated = 0] = await readRows(context, estimatePassing(corpus, filter));
  const clear = pathByEstimate(estimated, total, filter, settings);
  if (clear !== undefined) return clear;
  const [counted = 0] = await readRows(context, countPassing(corpus, filter, exactLimit(total, settings) + 1));
  return pathByCount(counted, total, settings);
}
