import type { Corpus } from "../catalog/corpus.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import { type ChunkFact, chunkDates, chunkPassages, chunkVectors } from "../sql/ranked-chunks.ts";
import type { Statement } from "../sql/sql.ts";
import type { ScoredCandidate } from "./candidate.ts";
import { type RetrievalContext, readChunks } from "./context.ts";
import { diversify } from "./diversify.ts";
import type { Found } from "./find-candidates.ts";
import { decayByAge } from "./recency.ts";
import { reportStage } from "./report-progress.ts";
import { rerank } from "./rerank.ts";

/** The stages between fusion and hits, each with what it reads of its candidates. One that the plan does not have changes nothing. */
export interface Stage {
  readonly plan: RetrievalPlan;
  readonly corpus: Corpus;
  readonly found: Found;
  readonly context: RetrievalContext;
}

/** Candidates that are compared with each other; whatever comes after them stays where it is. The work grows with the square. */
const MAX_POOL = 500;

type Candidates = readonly ScoredCandidate[];

export async function rerankStage(candidates: Candidates, { plan, corpus, context }: Stage): Promise<Candidates> {
  if (plan.rerank === undefined) return candidates;
  const { reranker, limits, access } = context;
  if (reranker === undefined) throw new Error("a rerank was planned without a reranker");
  const best = candidates.slice(0, plan.rerank.topN);
  const passages = await factsOf(best, corpus, chunkPassages, context);
  const reranked = await rerank(best, passages, plan.query, reranker, limits.signal, access.tenantId);
  reportStage(context, "rerank", `reranked ${reranked.length} of ${candidates.length}`);
  return reranked;
}

export async function recencyStage(
  candidates: Candidates,
  { plan, corpus, found, context }: Stage,
): Promise<Candidates> {
  if (plan.recency === undefined) return candidates;
  const { field, halfLifeDays } = plan.recency;
  const facts = await factsOf(candidates, corpus, (there, numbers) => chunkDates(there, numbers, field), context);
  const dates = new Map([...facts].flatMap(([chunkNo, date]) => (date === undefined ? [] : [[chunkNo, date]])));
  return decayByAge(candidates, { dates, asOf: found.committedAt, halfLifeDays });
}

export async function diversifyStage(candidates: Candidates, { plan, corpus, context }: Stage): Promise<Candidates> {
  if (plan.mmr === undefined) return candidates;
  const pool = candidates.slice(0, Math.min(plan.candidateK, MAX_POOL));
  const vectors = await factsOf(pool, corpus, chunkVectors, context);
  const diverse = await diversify(pool, vectors, plan.mmr.lambda, context.limits.signal);
  reportStage(context, "diversify");
  return [...diverse, ...candidates.slice(pool.length)];
}

async function factsOf<Value>(
  candidates: Candidates,
  corpus: Corpus,
  statementFor: (corpus: Corpus, chunkNos: readonly number[]) => Statement<ChunkFact<Value>>,
  context: RetrievalContext,
): Promise<ReadonlyMap<number, Value>> {
  if (candidates.length === 0) return new Map();
  const numbers = candidates.map(({ chunkNo }) => chunkNo);
  const rows = await readChunks(context, corpus, numbers, (there) => statementFor(there, numbers));
  return new Map(rows.map(({ chunkNo, value }) => [chunkNo, value]));
}
