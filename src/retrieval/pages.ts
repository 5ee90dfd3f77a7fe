import type { Corpus } from "../catalog/corpus.ts";
import type { DensePath } from "../plan/choose-path.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import { invalidParams, notFound } from "../protocol/errors.ts";
import { type RetrievalContext, statementLimits } from "./context.ts";
import { isSigned, type Place, parseCursor, writeCursor } from "./cursor.ts";
import { VersionGone } from "./find-candidates.ts";
import { loadHits, type Page, type Ranked } from "./load-hits.ts";
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

/** A list from one page's first place on, and what its cursors have in common. */
interface List extends Place {
  readonly left: readonly Ranked[];
  /** Found anew it has the same chunks in the same places. */
  readonly keepsPlaces: boolean;
}

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
  return { ...page, nextCursor: await cursorAfter(page, list, corpus, plan, context) };
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
  const keepsPlaces = comesOutTheSame(listed, context);
  if (canBeFoundAnew(plan, keepsPlaces)) {
    const list = { kind: "version", token: indexVersion, shown: [] } as const;
    return { list, offset: 0, left: ranked, keepsPlaces, caps, expiresAt };
  }
  const left = ranked.slice(0, maxCandidateK);
  const { rankedLists, owner, access } = context;
  const entries = packEntries(left);
  const id = await rankedLists.keep(owner, { indexVersion, candidates, entries }, access, statementLimits(context));
  return { list: { kind: "kept", id }, offset: 0, left, keepsPlaces: true, caps, expiresAt };
}

/** A graph may lead to a chunk that it missed before, or to one less; and of some models a query's vector is not the same a second time. */
const comesOutTheSame = ({ path }: Listed, { embedding }: RetrievalContext): boolean =>
  path === undefined || (path.search === "exact" && embedding.isRepeatable);

/**
 * A reranker's and a generator's answers and what a trajectory has seen are not the same a second time. Chunks that were shown can be left out of a
 * list that comes out a little otherwise, but whole documents may be found by other chunks then.
 */
const canBeFoundAnew = ({ rerank, rewrite, sessionId, unit }: RetrievalPlan, keepsPlaces: boolean): boolean =>
  [rerank, rewrite, sessionId].every((one) => one === undefined) && (keepsPlaces || unit === "chunk");

/**
 * The cursor of the page after this one.
 *
 * @returns undefined at the end of the list, and when nothing fitted into the budget: the next page would be no other
 */
async function cursorAfter(
  { used }: Page,
  { left, keepsPlaces, list, offset, caps, expiresAt }: List,
  corpus: Corpus,
  plan: RetrievalPlan,
  context: RetrievalContext,
): Promise<string | undefined> {
  if (used === 0 || used >= left.length || context.cursors === undefined) return undefined;
  const key = await context.cursors.keys.of(context.access, statementLimits(context));
  const place =
    keepsPlaces || list.kind === "kept"
      ? { list, offset: offset + used }
      : { list: { ...list, shown: [...list.shown, ...left.slice(0, used).map(({ chunkNo }) => chunkNo)] }, offset };
  return writeCursor({ ...place, caps, expiresAt }, { owner: context.owner, corpus: corpus.name, plan }, key);
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
  const { left, keepsPlaces, indexVersion, candidates, path } = listed;
  const page = await loadHits(left, indexVersion, corpus, plan, context);
  if (page === undefined) throw expired();
  const nextCursor = await cursorAfter(page, { ...place, left, keepsPlaces }, corpus, plan, context);
  return { ...page, indexVersion, candidates, path, nextCursor };
}

/** @returns undefined when the list or its version is gone */
async function readList(
  { list, offset, caps }: Place,
  plan: RetrievalPlan,
  corpus: Corpus,
  context: RetrievalContext,
): Promise<(Omit<Listed, "ranked"> & Pick<List, "left" | "keepsPlaces">) | undefined> {
  if (list.kind === "kept") {
    const { rankedLists, owner, access } = context;
    const kept = await rankedLists.find(owner, list.id, access, statementLimits(context));
    return kept && { ...kept, path: undefined, left: unpackEntries(kept.entries).slice(offset), keepsPlaces: true };
  }
  const capped = { ...plan, ...caps, firstCandidateK: caps.candidateK };
  if (list.shown.length === 0) {
    const anew = await findAnew(list.token, capped, corpus, context);
    return anew && { ...anew, left: anew.ranked.slice(offset), keepsPlaces: true };
  }
  // As long as the version is the newest, the graph leads to it.
  const mayBeNewest = plan.indexVersion === undefined && corpus.graphChunks !== undefined;
  const newest = mayBeNewest ? await findAnew(undefined, capped, corpus, context) : undefined;
  const isSame = newest?.indexVersion === list.token;
  const anew = isSame ? newest : await findAnew(list.token, capped, corpus, context);
  const shown = new Set(list.shown);
  return anew && { ...anew, left: anew.ranked.filter(({ chunkNo }) => !shown.has(chunkNo)), keepsPlaces: false };
}

async function findAnew(
  token: string | undefined,
  plan: RetrievalPlan,
  corpus: Corpus,
  context: RetrievalContext,
): Promise<Listed | undefined> {
  try {
    // Nobody is told of hits that are not this page's.
    const silent = { ...context, report: undefined };
    return await rank({ ...plan, indexVersion: token }, corpus, [{ query: plan.query }], silent);
  } catch (error) {
    if (error instanceof VersionGone) return undefined;
    throw error;
  }
}

const notOurs = () =>
  invalidParams({ field: "cursor", detail: "must be the nextCursor of the same request, by the same caller" });

const expired = () => notFound("the cursor has expired: ask for the first page again");
