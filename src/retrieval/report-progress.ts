import type { Corpus } from "../catalog/corpus.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import type { Stage } from "../protocol/wire.ts";
import type { RetrievalContext } from "./context.ts";
import { emptyPage, loadHits, type Ranked } from "./load-hits.ts";

/** How far a retrieve is once a stage has ended: models take most of the time (RCP §9). */
const REACHED = {
  transform: 0.2,
  recall: 0.4,
  fuse: 0.5,
  rerank: 0.8,
  diversify: 0.9,
  pack: 1,
} as const satisfies Record<Stage, number>;

/** Tells that a stage has ended. */
export function reportStage({ report }: Pick<RetrievalContext, "report">, stage: Stage, message?: string): void {
  report?.({ progress: REACHED[stage], stage, ...(message !== undefined && { message }) });
}

/**
 * Tells that recall has ended, with the hits as they stand before anything costly reorders them. What recall did not bring along is read
 * from the database for this, so only when somebody listens.
 */
export async function reportRecall(
  candidates: readonly Ranked[],
  corpus: Corpus,
  plan: RetrievalPlan,
  context: RetrievalContext,
): Promise<void> {
  if (context.report === undefined) return;
  const { hits } = (await loadHits(candidates, undefined, corpus, plan, context)) ?? emptyPage(plan);
  const message = `${candidates.length} candidates`;
  context.report({ progress: REACHED.recall, stage: "recall", message, partial: { hits } });
  if (plan.recall.mode === "hybrid") reportStage(context, "fuse");
}
