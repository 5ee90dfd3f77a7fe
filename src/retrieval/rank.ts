import type { Corpus } from "../catalog/corpus.ts";
import type { DensePath } from "../plan/choose-path.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import type { RetrievalContext } from "./context.ts";
import { findDistinct } from "./find-distinct.ts";
import type { Ranked } from "./load-hits.ts";
import { diversifyStage, recencyStage, rerankStage } from "./rank-stages.ts";
import type { Question } from "./recall.ts";
import { reportRecall } from "./report-progress.ts";
import { loadSeen } from "./trajectory.ts";

/** A ranked list, and what it is of. */
export interface Ranking {
  readonly indexVersion: string;
  /** Best first. */
  readonly ranked: readonly Ranked[];
  readonly candidates: number;
  readonly reranked: number;
  /** How the dense list was found. */
  readonly path: DensePath | undefined;
  readonly notes: readonly string[];
}

/**
 * The stages that order, each on what the one before left. `minScore` is judged on the score that a hit is shown with.
 *
 * @returns undefined for a corpus that was never written
 */
export async function rank(
  plan: RetrievalPlan,
  corpus: Corpus,
  questions: readonly Question[],
  context: RetrievalContext,
): Promise<Ranking | undefined> {
  const seen = await loadSeen(plan, corpus, context);
  const recalled = await findDistinct(plan, corpus, questions, seen, context);
  if (recalled === undefined) return undefined;
  const { found, distinct, notes } = recalled;
  const { candidates, indexVersion, path } = found;
  await reportRecall(distinct, corpus, plan, context);

  const stage = { plan, corpus, found, context };
  const reranked = await rerankStage(distinct, stage);
  const aged = await recencyStage(reranked, stage);
  const relevant = aged.filter(({ score }) => plan.minScore === undefined || score >= plan.minScore);
  const ranked = await diversifyStage(relevant, stage);
  return {
    indexVersion,
    path,
    ranked,
    candidates: candidates.length,
    reranked: plan.rerank === undefined ? 0 : reranked.length,
    notes,
  };
}
