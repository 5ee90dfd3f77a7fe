import type { Corpus } from "../catalog/corpus.ts";
import type { Access, Database } from "../db/database.ts";
import type { EmbeddingModel } from "../models/embedding.ts";
import type { RecallPlan, RetrievalPlan } from "../plan/retrieval-plan.ts";
import { backendUnavailable } from "../protocol/errors.ts";
import type { RetrieveResult } from "../protocol/wire.ts";
import { hitRows } from "../sql/recall.ts";
import { compareScored, type ScoredCandidate } from "./candidate.ts";
import { fuse } from "./fuse.ts";
import { type Recall, recall } from "./recall.ts";
import { shapeHit } from "./shape-hits.ts";

/** What a retrieval runs with. `limits` is the call: its signal and the time left. */
export interface RetrievalContext {
  readonly database: Database;
  readonly access: Access;
  readonly embedding: EmbeddingModel;
  readonly limits: { readonly signal: AbortSignal; remainingMs(): number };
}

/**
 * Runs a plan: embed → recall → fuse → cut → shape. No database connection is held while the model works, and every statement
 * reads the state of one corpus version.
 *
 * @param corpus undefined = a corpus that was never written, which answers with no hits
 * @throws RpcError -32010 when the model or the pinned version cannot be had, -32014, -32006
 */
export async function retrieve(
  plan: RetrievalPlan,
  corpus: Corpus | undefined,
  context: RetrievalContext,
): Promise<RetrieveResult> {
  const startedAt = performance.now();
  const found = corpus === undefined ? undefined : await recall(plan, corpus, context);
  if (found === undefined && plan.indexVersion !== undefined)
    throw backendUnavailable({ retryable: false, detail: "that indexVersion is unknown or no longer kept" });

  const ranked = found === undefined ? [] : rank(found, plan.recall);
  const kept = ranked
    .filter((candidate) => plan.minScore === undefined || candidate.score >= plan.minScore)
    .slice(0, plan.k);
  const hits = corpus === undefined || kept.length === 0 ? [] : await shape(kept, corpus, plan, context);
  const notes = plan.query.trim() === "" ? [...plan.notes, "the query is empty"] : plan.notes;
  return {
    hits,
    ...(found === undefined ? {} : { indexVersion: found.indexVersion }),
    usage: {
      candidates: ranked.length,
      reranked: 0,
      latencyMs: Math.round(performance.now() - startedAt),
      strategy: strategyOf(plan.recall),
      ...(notes.length === 0 ? {} : { notes }),
    },
  };
}

/** Final order of what recall found: the one retriever's own score, or the fused one. */
function rank(found: Recall, plan: RecallPlan): ScoredCandidate[] {
  switch (plan.mode) {
    case "dense":
      return [...found.candidates.values()].map((one) => ({ ...one, score: one.dense ?? 0 })).sort(compareScored);
    case "sparse":
      return [...found.candidates.values()].map((one) => ({ ...one, score: one.sparse ?? 0 })).sort(compareScored);
    case "hybrid":
      return fuse(found, plan.fusion);
  }
}

async function shape(
  kept: readonly ScoredCandidate[],
  corpus: Corpus,
  plan: RetrievalPlan,
  { database, access, limits }: RetrievalContext,
) {
  const show = { text: plan.includeText, vector: plan.includeVectors };
  const statement = hitRows(
    corpus,
    kept.map((candidate) => candidate.chunkNo),
    show,
  );
  const [rows] = await database.read("reader", access, [statement], {
    signal: limits.signal,
    timeoutMs: limits.remainingMs(),
  });
  const byNumber = new Map(rows.map((row) => [row.chunkNo, row]));
  return kept.flatMap((candidate) => {
    const row = byNumber.get(candidate.chunkNo);
    return row === undefined ? [] : [shapeHit(candidate, row)]; // gone: purged between recall and here
  });
}

const strategyOf = (plan: RecallPlan): Readonly<Record<string, unknown>> => ({
  mode: plan.mode,
  ...(plan.mode === "sparse" ? {} : { dense: "exact" }),
  ...(plan.mode === "dense" ? {} : { sparse: "bm25" }),
  ...(plan.mode === "hybrid" ? { fusion: plan.fusion.method } : {}),
});
