import type { Corpus } from "../catalog/corpus.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import type { Surplus } from "../sql/near-duplicates.ts";
import type { ScoredCandidate } from "./candidate.ts";
import { type Collapsed, collapse } from "./collapse.ts";
import type { RetrievalContext } from "./context.ts";
import { type Found, findCandidates } from "./find-candidates.ts";
import { groupByDocument } from "./group.ts";
import { shownFields } from "./load-hits.ts";
import type { Question, RecallRequest } from "./recall.ts";
import type { Seen } from "./trajectory.ts";

/** How often recall is asked: once, and again behind the near-duplicates that left it short. */
const MAX_ROUNDS = 3;

/** Groups that one question passes over at most: each is compared with every chunk of the corpus. */
const MAX_GROUPS = 64;

export interface Distinct {
  readonly found: Found;
  /** Of the plan's unit, best first: nothing seen before, and of near-duplicates only as many as the plan lets through. */
  readonly distinct: readonly ScoredCandidate[];
  readonly notes: readonly string[];
}

/**
 * Finds candidates and leaves out surplus near-duplicates. Only as many are looked for as the page needs, where it needs no more and they
 * are enough.
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
  const candidateK = plan.firstCandidateK;
  if (candidateK < plan.candidateK) {
    const request = { ...plan, candidateK, hits: { count: plan.k, show: shownFields(plan) } };
    const look = await lookOnce(request, corpus, questions, seen, context);
    if (look === undefined) return undefined;
    const { found, left, full } = look;
    if (left.length > plan.k || found.candidates.length < candidateK)
      return { found, distinct: left, notes: notesOf(full.length > 0, true) };
  }
  return await findAll(plan, corpus, questions, seen, context);
}

/**
 * Where fewer are left than `k`, or than half of what recall found at first (what later pages show), the same question is asked again as
 * if the surplus were not in the corpus, until there are enough, there is no more, or it was asked three times.
 */
async function findAll(
  plan: RetrievalPlan,
  corpus: Corpus,
  questions: readonly Question[],
  seen: Seen,
  context: RetrievalContext,
): Promise<Distinct | undefined> {
  // Wider by what may be dropped, so that a long trajectory goes on finding something new.
  const candidateK = Math.min(plan.candidateK + seen.size, plan.maxCandidateK);
  let { indexVersion } = plan;
  let surplus: Surplus | undefined;
  let wanted: number | undefined;
  let path: Found["path"];
  for (let round = 1; ; round++) {
    const look = await lookOnce({ ...plan, candidateK, indexVersion, surplus }, corpus, questions, seen, context);
    if (look === undefined) return undefined;
    const { found, recalled, left, full } = look;
    if (round === 1) path = found.path; // what comes after it reads a version, and that exactly
    wanted ??= Math.min(recalled, Math.max(plan.k, recalled / 2));
    const isWhole = full.length === 0 || left.length >= wanted || found.candidates.length < candidateK;
    if (isWhole || round === MAX_ROUNDS)
      return {
        found: { ...found, path },
        distinct: left,
        notes: notesOf(surplus !== undefined || full.length > 0, isWhole),
      };
    surplus = {
      near: [...(surplus?.near ?? []), ...full].slice(0, MAX_GROUPS),
      but: [...new Set(left.map(({ docId }) => docId))],
    };
    indexVersion = found.indexVersion; // what was read first is read again
  }
}

/** What one recall finds that was not seen before, how many of the plan's unit that is, and what is left of it. */
async function lookOnce(
  request: RecallRequest,
  corpus: Corpus,
  questions: readonly Question[],
  seen: Seen,
  context: RetrievalContext,
): Promise<(Collapsed<ScoredCandidate> & { readonly found: Found; readonly recalled: number }) | undefined> {
  const found = await findCandidates(request, corpus, questions, context);
  if (found === undefined) return undefined;
  const { unit, maxNearDuplicates } = request;
  const unseen = found.candidates.filter((candidate) => !seen.has(candidate, unit));
  const recalled = unit === "document" ? groupByDocument(unseen) : unseen;
  const distinct =
    maxNearDuplicates === 0
      ? { left: recalled, full: [] }
      : await collapse(recalled, maxNearDuplicates, context.limits.signal);
  return { ...distinct, found, recalled: recalled.length };
}

function notesOf(wasCollapsed: boolean, isWhole: boolean): readonly string[] {
  if (!wasCollapsed) return [];
  const rest = isWhole ? "" : "; there may be more hits behind them";
  return [`near-duplicates of some hits were left out${rest}`];
}
