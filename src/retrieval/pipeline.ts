import type { Corpus } from "../catalog/corpus.ts";
import type { DensePath } from "../plan/choose-path.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import type { RetrieveResult } from "../protocol/wire.ts";
import type { RetrievalContext } from "./context.ts";
import { VersionGone } from "./find-candidates.ts";
import { emptyPage, type Page } from "./load-hits.ts";
import { firstPageOf, laterPage } from "./pages.ts";
import { questionsOf } from "./questions.ts";
import { type Ranking, rank } from "./rank.ts";
import type { Question } from "./recall.ts";
import { reportStage } from "./report-progress.ts";
import { rememberHits } from "./trajectory.ts";
import { notesOf, strategyOf } from "./usage.ts";

/** What a retrieve comes to, but for how long it took. */
interface Outcome extends Page {
  readonly indexVersion: string | undefined;
  /** Chunks that recall found. */
  readonly candidates: number;
  readonly reranked?: number;
  readonly path?: DensePath | undefined;
  readonly nextCursor?: string | undefined;
  readonly rewrittenQuery?: string | undefined;
}

/**
 * Runs a plan: transform → recall → fuse → collapse → rerank → diversify → pack → shape. No database connection is held while a model works,
 * and every statement reads the state of one corpus version. With a cursor the ranked list is the one of its first page,
 * kept or found anew in that version, and its next hits are shown.
 *
 * @param corpus undefined = a corpus that was never written, which answers with no hits
 * @throws RpcError -32010 when a model or the pinned version cannot be had, -32602 or -32015 for a cursor, -32014, -32006
 */
export async function retrieve(
  plan: RetrievalPlan,
  corpus: Corpus | undefined,
  context: RetrievalContext,
): Promise<RetrieveResult> {
  const startedAt = performance.now();
  const { cursor } = plan;
  const outcome: Outcome =
    cursor === undefined ? await firstPage(plan, corpus, context) : await laterPage(cursor, plan, corpus, context);
  if (corpus !== undefined) await rememberHits(outcome.rows, plan, corpus, context);
  reportStage(context, "pack");
  const { hits, indexVersion, tokens, nextCursor, rewrittenQuery } = outcome;
  const notes = [...notesOf(plan), ...outcome.notes];
  return {
    hits,
    ...(nextCursor !== undefined && { nextCursor }),
    ...(indexVersion !== undefined && { indexVersion }),
    usage: {
      candidates: outcome.candidates,
      reranked: outcome.reranked ?? 0,
      latencyMs: Math.round(performance.now() - startedAt),
      ...(tokens !== undefined && { tokens }),
      strategy: strategyOf(plan, outcome.path),
      ...(notes.length > 0 && { notes }),
    },
    ...(rewrittenQuery !== undefined && { rewrittenQuery }),
  };
}

async function firstPage(plan: RetrievalPlan, corpus: Corpus | undefined, context: RetrievalContext): Promise<Outcome> {
  if (corpus === undefined && plan.indexVersion !== undefined) throw new VersionGone();
  const { questions, rewrittenQuery } = await questionsOf(plan, context);
  if (rewrittenQuery !== undefined) reportStage(context, "transform");
  const ranking = corpus === undefined ? undefined : await rankPlanned(plan, corpus, questions, context);
  if (corpus === undefined || ranking === undefined)
    return { ...emptyPage(plan), indexVersion: undefined, candidates: 0, rewrittenQuery };
  const page = await firstPageOf(ranking, plan, corpus, context);
  if (page === undefined) throw new VersionGone();
  const { ranked: _, notes, ...rest } = ranking;
  return { ...page, ...rest, notes: [...notes, ...page.notes], rewrittenQuery };
}

/** Once more where the version that the first recall read was withdrawn before the last, by a purge say: nobody asked for that one. */
async function rankPlanned(
  plan: RetrievalPlan,
  corpus: Corpus,
  questions: readonly Question[],
  context: RetrievalContext,
): Promise<Ranking | undefined> {
  try {
    return await rank(plan, corpus, questions, context);
  } catch (error) {
    if (!(error instanceof VersionGone) || plan.indexVersion !== undefined) throw error;
    return await rank(plan, corpus, questions, context);
  }
}
