import type { Corpus } from "../catalog/corpus.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import type { RetrieveResult } from "../protocol/wire.ts";
import type { RetrievalContext } from "./context.ts";
import { findCandidates, versionGone } from "./find-candidates.ts";
import { groupByDocument } from "./group.ts";
import { emptyPage, loadHits, type Ranked } from "./load-hits.ts";
import { questionsOf } from "./questions.ts";
import { diversifyStage, recencyStage, rerankStage } from "./rank-stages.ts";
import type { Question } from "./recall.ts";
import { reportRecall, reportStage } from "./report-progress.ts";
import { notesOf, strategyOf } from "./usage.ts";

/** A plan's ranked list, best first, and how it came about. */
interface Ranking {
  readonly indexVersion: string | undefined;
  readonly ranked: readonly Ranked[];
  /** Chunks that recall found. */
  readonly candidates: number;
  readonly reranked: number;
}

/**
 * Runs a plan: transform → recall → fuse → rerank → diversify → pack → shape. No database connection is held while a model works,
 * and every statement reads the state of one corpus version.
 *
 * @param corpus undefined = a corpus that was never written, which answers with no hits
 * @throws RpcError -32010 when a model or the pinned version cannot be had, -32014, -32006
 */
export async function retrieve(
  plan: RetrievalPlan,
  corpus: Corpus | undefined,
  context: RetrievalContext,
): Promise<RetrieveResult> {
  const startedAt = performance.now();
  if (corpus === undefined && plan.indexVersion !== undefined) throw versionGone();
  const { questions, rewrittenQuery } = await questionsOf(plan, context);
  if (rewrittenQuery !== undefined) reportStage(context, "transform");
  const ranking = corpus === undefined ? NOTHING : await rank(plan, corpus, questions, context);
  const page = corpus === undefined ? emptyPage(plan) : await loadHits(ranking.ranked, corpus, plan, context);
  const { hits, tokens } = page;
  reportStage(context, "pack");
  const notes = [...notesOf(plan), ...page.notes];
  return {
    hits,
    ...(ranking.indexVersion !== undefined && { indexVersion: ranking.indexVersion }),
    usage: {
      candidates: ranking.candidates,
      reranked: ranking.reranked,
      latencyMs: Math.round(performance.now() - startedAt),
      ...(tokens !== undefined && { tokens }),
      strategy: strategyOf(plan),
      ...(notes.length > 0 && { notes }),
    },
    ...(rewrittenQuery !== undefined && { rewrittenQuery }),
  };
}

const NOTHING: Ranking = { indexVersion: undefined, ranked: [], candidates: 0, reranked: 0 };

/** The stages that order, each on what the one before left. `minScore` is judged on the score that a hit is shown with. */
async function rank(
  plan: RetrievalPlan,
  corpus: Corpus,
  questions: readonly Question[],
  context: RetrievalContext,
): Promise<Ranking> {
  const found = await findCandidates(plan, corpus, questions, context);
  if (found === undefined) return NOTHING;
  const { candidates, indexVersion } = found;
  const recalled = plan.unit === "document" ? groupByDocument(candidates) : candidates;
  await reportRecall(recalled, corpus, plan, context);

  const stage = { plan, corpus, found, context };
  const reranked = await rerankStage(recalled, stage);
  const aged = await recencyStage(reranked, stage);
  const relevant = aged.filter(({ score }) => plan.minScore === undefined || score >= plan.minScore);
  const ranked = await diversifyStage(relevant, stage);
  return {
    indexVersion,
    ranked,
    candidates: candidates.length,
    reranked: plan.rerank === undefined ? 0 : reranked.length,
  };
}
