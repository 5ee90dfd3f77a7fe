import type { Corpus } from "../catalog/corpus.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import { documentPrints } from "../sql/recall.ts";
import type { ScoredCandidate } from "./candidate.ts";
import { collapse } from "./collapse.ts";
import { type RetrievalContext, readChunks } from "./context.ts";
import { type Found, findCandidates } from "./find-candidates.ts";
import { groupByDocument } from "./group.ts";
import type { Question } from "./recall.ts";
import type { Seen } from "./trajectory.ts";

/** How much wider recall looks each time that near-duplicates left it short. */
const WIDER = 4;

export interface Distinct {
  readonly found: Found;
  /** Of the plan's unit, best first: nothing seen before, and of near-duplicates only as many as the plan lets through. */
  readonly distinct: readonly ScoredCandidate[];
  readonly notes: readonly string[];
}

/**
 * Finds candidates and leaves out surplus near-duplicates. Where fewer are left than `k`, or than half of what recall found at
 * first (what later pages show), it looks again behind them, wider each time, until there are enough, the corpus has no more, or
 * `maxCandidateK` is reached.
 *
 * @returns undefined for a corpus that was never written
 * @throws RpcError -32010 when the pinned version cannot be had
 */
export async function findDistinct(
  plan: RetrievalPlan,
  corpus: Corpus,
  questions: readonly Question[],
  seen: Seen,
  context: RetrievalContext,
): Promise<Distinct | undefined> {
  // Wider by what may be dropped, so that a long trajectory goes on finding something new.
  let candidateK = Math.min(plan.candidateK + seen.size, plan.maxCandidateK);
  let { indexVersion } = plan;
  let wanted: number | undefined;
  for (;;) {
    const found = await findCandidates({ ...plan, candidateK, indexVersion }, corpus, questions, context);
    if (found === undefined) return undefined;
    const unseen = found.candidates.filter((candidate) => !seen.has(candidate, plan.unit));
    const recalled = plan.unit === "document" ? groupByDocument(unseen) : unseen;
    const distinct = await collapsed(recalled, plan, corpus, context);
    wanted ??= Math.min(recalled.length, Math.max(plan.k, recalled.length / 2));
    const isEnough = distinct.length === recalled.length || distinct.length >= wanted;
    if (isEnough || found.candidates.length < candidateK) return { found, distinct, notes: [] };
    if (candidateK >= plan.maxCandidateK)
      return { found, distinct, notes: ["near-duplicates were left out; there may be more hits behind them"] };
    candidateK = Math.min(candidateK * WIDER, plan.maxCandidateK);
    indexVersion = found.indexVersion; // what was read first is read again
  }
}

async function collapsed(
  candidates: readonly ScoredCandidate[],
  { maxNearDuplicates }: RetrievalPlan,
  corpus: Corpus,
  context: RetrievalContext,
): Promise<readonly ScoredCandidate[]> {
  if (maxNearDuplicates === 0 || candidates.length <= maxNearDuplicates) return candidates;
  const numbers = candidates.map(({ chunkNo }) => chunkNo);
  const rows = await readChunks(context, corpus, numbers, (there) => documentPrints(there, numbers));
  const prints = new Map(rows.map(({ chunkNo, value }) => [chunkNo, value]));
  return await collapse(candidates, prints, maxNearDuplicates, context.limits.signal);
}
