import type { Corpus } from "../catalog/corpus.ts";
import type { DensePath } from "../plan/choose-path.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import { invalidParams, notFound } from "../protocol/errors.ts";
import { type RetrievalContext, statementLimits } from "./context.ts";
import { type Caps, isSigned, type Place, parseCursor, writeCursor } from "./cursor.ts";
import { VersionGone } from "./find-candidates.ts";
import { loadHits, type Page } from "./load-hits.ts";
import { type Ranking, rank } from "./rank.ts";
import { packEntries, unpackEntries } from "./ranked-entries.ts";

/** A page after the first, of the list that the first page's retrieve found. */
export interface LaterPage extends Page {
  readonly indexVersion: string;
  readonly candidates: number;
  /** Undefined where the list was kept. */
  readonly path: DensePath | undefined;
  readonly nextCursor: string | undefined;
}

/** What the cursors of one list have in common, and how many places it has. */
type List = Omit<Place, "offset"> & { readonly length: number };

type Listed = Pick<Ranking, "indexVersion" | "candidates" | "ranked" | "path">;

/**
 * The first page of a ranked list. A list that can be found anew from its version leaves nothing behind, so that reading does not
 * write; any other is kept for later pages, where there are any.
 *
 * @returns undefined when the plan's version is no longer kept
 */
export async function firstPageOf(
  ranking: Ranking,
  plan: RetrievalPlan,
  corpus: Corpus,
  context: RetrievalContext,
): Promise<(Page & { readonly nextCursor: string | undefined }) | undefined> {
  const page = await loadHits(ranking.ranked, plan.indexVersion, corpus, plan, context);
  if (page === undefined) return undefined;
  const hasMore = page.used > 0 && page.used < ranking.ranked.length;
  if (!hasMore || context.cursors === undefined) return { ...page, nextCursor: undefined };
  const list = await listOf(ranking, plan, context.cursors.ttlSeconds, context);
  return { ...page, nextCursor: await cursorAfter(page, 0, list, corpus, plan, context) };
}

/**
 * A reranker's and a generator's answers and what a trajectory has seen are not the same a second time, nor, of some models, the query's
 * vector. Nor is what a graph found: anew, a version is searched exactly, and its list may have a chunk that this one does not.
 */
function canBeFoundAnew(
  { rerank, rewrite, sessionId }: RetrievalPlan,
  { path }: Listed,
  { embedding }: RetrievalContext,
): boolean {
  if (rerank !== undefined || rewrite !== undefined || sessionId !== undefined) return false;
  return path === undefined || (path.search === "exact" && embedding.isRepeatable);
}

async function listOf(
  listed: Listed,
  plan: RetrievalPlan,
  ttlSeconds: number,
  context: RetrievalContext,
): Promise<List> {
  const { ranked, indexVersion, candidates } = listed;
  const { candidateK, maxCandidateK, maxNearDuplicates } = plan;
  const caps = { candidateK, maxCandidateK, maxNearDuplicates };
  const expiresAt = Math.ceil(Date.now() / 1_000) + ttlSeconds;
  if (canBeFoundAnew(plan, listed, context))
    return { list: { kind: "version", token: indexVersion }, caps, expiresAt, length: ranked.length };
  const kept = ranked.slice(0, maxCandidateK);
  const { rankedLists, owner, access } = context;
  const list = { indexVersion, candidates, entries: packEntries(kept) };
  const id = await rankedLists.keep(owner, list, access, statementLimits(context));
  return { list: { kind: "kept", id }, caps, expiresAt, length: kept.length };
}

/**
 * The cursor of the page after this one.
 *
 * @param from how many places of the list were used up before the page
 * @returns undefined at the end of the list, and when nothing fitted into the budget: the next page would be no other
 */
async function cursorAfter(
  page: Page,
  from: number,
  { length, ...list }: List,
  corpus: Corpus,
  plan: RetrievalPlan,
  context: RetrievalContext,
): Promise<string | undefined> {
  const offset = from + page.used;
  if (page.used === 0 || offset >= length || context.cursors === undefined) return undefined;
  const key = await context.cursors.keys.of(context.access, statementLimits(context));
  return writeCursor({ ...list, offset }, { owner: context.owner, corpus: corpus.name, plan }, key);
}

/**
 * The page that a cursor names, of the list as its first page found it. Chunks that were withdrawn since are left out.
 *
 * @throws RpcError -32602 for a cursor that this server did not make for this caller, corpus and plan; -32015 when it or its list has
 *   expired or its version is no longer kept
 * @see RCP §10; DESIGN ruling 12
 */
export async function laterPage(
  cursor: string,
  plan: RetrievalPlan,
  corpus: Corpus | undefined,
  context: RetrievalContext,
): Promise<LaterPage> {
  const signed = parseCursor(cursor);
  const { cursors, owner } = context;
  if (signed === undefined || corpus === undefined || cursors === undefined) throw notOurs();
  const key = await cursors.keys.find(context.access, statementLimits(context));
  if (key === undefined || !isSigned(signed, { owner, corpus: corpus.name, plan }, key)) throw notOurs();
  const { signature: _, ...place } = signed;
  if (place.expiresAt * 1_000 < Date.now()) throw expired();
  const listed = await readList(place, plan, corpus, context);
  if (listed === undefined) throw expired();
  const { ranked, indexVersion, candidates, path } = listed;
  const page = await loadHits(ranked.slice(place.offset), indexVersion, corpus, plan, context);
  if (page === undefined) throw expired();
  const nextCursor = await cursorAfter(page, place.offset, { ...place, length: ranked.length }, corpus, plan, context);
  return { ...page, indexVersion, candidates, path, nextCursor };
}

/** @returns undefined when the list or its version is gone */
async function readList(
  { list, caps }: Place,
  plan: RetrievalPlan,
  corpus: Corpus,
  context: RetrievalContext,
): Promise<Listed | undefined> {
  if (list.kind === "version") return await findAnew(list.token, caps, plan, corpus, context);
  const { rankedLists, owner, access } = context;
  const kept = await rankedLists.find(owner, list.id, access, statementLimits(context));
  return kept && { ...kept, path: undefined, ranked: unpackEntries(kept.entries) };
}

async function findAnew(
  token: string,
  caps: Caps,
  plan: RetrievalPlan,
  corpus: Corpus,
  context: RetrievalContext,
): Promise<Listed | undefined> {
  try {
    // Nobody is told of hits that are not this page's.
    const silent = { ...context, report: undefined };
    return await rank({ ...plan, ...caps, indexVersion: token }, corpus, [{ query: plan.query }], silent);
  } catch (error) {
    if (error instanceof VersionGone) return undefined;
    throw error;
  }
}

const notOurs = () =>
  invalidParams({ field: "cursor", detail: "must be the nextCursor of the same request, by the same caller" });

const expired = () => notFound("the cursor has expired: ask for the first page again");
