import type { Corpus } from "../catalog/corpus.ts";
import type { DensePath } from "../plan/choose-path.ts";
import type { RecallPlan } from "../plan/retrieval-plan.ts";
import { backendUnavailable, RpcError } from "../protocol/errors.ts";
import { compareScored, type ScoredCandidate } from "./candidate.ts";
import type { RetrievalContext } from "./context.ts";
import { fuse, fuseQueries } from "./fuse.ts";
import { type Question, type Recall, type RecallRequest, recall } from "./recall.ts";

/** What recall and fusion found, all of one version of the corpus. */
export interface Found {
  readonly indexVersion: string;
  /** When that version was committed, in epoch milliseconds. */
  readonly committedAt: number;
  /** How the first question's dense list was found. */
  readonly path: DensePath | undefined;
  /** Best first. */
  readonly candidates: readonly ScoredCandidate[];
}

/** -32010. One answer for a version that never was and one that is no longer kept (DESIGN ruling 12). */
export class VersionGone extends RpcError {
  constructor() {
    const detail = "that indexVersion is unknown or no longer kept";
    const { code, message, data } = backendUnavailable({ retryable: false, detail });
    super(code, message, data);
  }
}

/**
 * Recalls candidates for each question, one after the other so that one request takes one connection, and fuses what was found.
 *
 * @returns undefined for a corpus that was never written
 * @throws RpcError -32010 when the pinned version cannot be had
 */
export async function findCandidates(
  plan: RecallRequest,
  corpus: Corpus,
  questions: readonly Question[],
  context: RetrievalContext,
): Promise<Found | undefined> {
  let first: Recall | undefined;
  const lists: ScoredCandidate[][] = [];
  for (const question of questions) {
    // What the first question read, the others read too.
    const indexVersion = plan.indexVersion ?? first?.indexVersion;
    const found = await recall({ ...plan, indexVersion }, corpus, question, context);
    if (found === undefined && indexVersion !== undefined) throw new VersionGone();
    if (found === undefined) return undefined;
    first ??= found;
    lists.push(rank(found, plan.recall));
  }
  if (first === undefined) return undefined;
  const { indexVersion, committedAt, path } = first;
  return { indexVersion, committedAt, path, candidates: fuseQueries(lists) };
}

/** Order of what one recall found: the one retriever's own score, or the fused one. */
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
