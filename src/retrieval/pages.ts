import type { Corpus } from "../catalog/corpus.ts";
import type { KeptList } from "../db/ranked-list-store.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import { invalidParams, notFound } from "../protocol/errors.ts";
import type { RankedList } from "../sql/ranked-lists.ts";
import { type RetrievalContext, statementLimits } from "./context.ts";
import { type CursorScope, isSigned, parseCursor, writeCursor } from "./cursor.ts";
import { loadHits, type Page, type Ranked } from "./load-hits.ts";
import { packEntries, unpackEntries } from "./ranked-entries.ts";

/** A page after the first, of the list that the first page's retrieve found. */
export interface LaterPage extends Page {
  readonly indexVersion: string;
  readonly candidates: number;
  readonly nextCursor: string | undefined;
}

/** A ranked list that is kept, and the key that signs its cursors. */
interface KeptRanking extends KeptList {
  readonly length: number;
}

/** A ranked list as its retrieve found it. */
interface Ranking extends Omit<RankedList, "entries"> {
  /** Best first. */
  readonly ranked: readonly Ranked[];
}

/**
 * The first page of a ranked list, which is kept for later pages where there are any.
 *
 * @returns undefined when the plan's version is no longer kept
 */
export async function firstPageOf(
  ranking: Ranking,
  plan: RetrievalPlan,
  corpus: Corpus,
  context: RetrievalContext,
): Promise<(Page & { readonly nextCursor: string | undefined }) | undefined> {
  const { ranked } = ranking;
  const [page, keptMeanwhile] = await Promise.all([
    loadHits(ranked, plan.indexVersion, corpus, plan, context),
    ranked.length > plan.k ? keepRanking(ranking, plan, context) : undefined,
  ]);
  if (page === undefined) return undefined;
  // Whether there was no room for some of k hits is known only now.
  const isCut = page.used > 0 && page.used < ranked.length;
  const kept = keptMeanwhile ?? (isCut ? await keepRanking(ranking, plan, context) : undefined);
  const scope = { owner: context.owner, corpus: corpus.name, plan };
  return { ...page, nextCursor: kept && cursorAfter(page, 0, kept, scope) };
}

/** @returns undefined where pages are switched off */
async function keepRanking(
  { ranked, indexVersion, candidates }: Ranking,
  plan: RetrievalPlan,
  context: RetrievalContext,
): Promise<KeptRanking | undefined> {
  const { rankedLists, owner, access } = context;
  if (rankedLists === undefined) return undefined;
  const kept = ranked.slice(0, plan.maxCandidateK);
  const list = { indexVersion, candidates, entries: packEntries(kept) };
  return { ...(await rankedLists.keep(owner, list, access, statementLimits(context))), length: kept.length };
}

/**
 * The cursor of the page after this one.
 *
 * @param from how many places of the list were used up before the page
 * @returns undefined at the end of the list, and when nothing fitted into the budget: the next page would be no other
 */
function cursorAfter(page: Page, from: number, list: KeptRanking, scope: CursorScope): string | undefined {
  const offset = from + page.used;
  if (page.used === 0 || offset >= list.length) return undefined;
  return writeCursor({ listId: list.listId, offset }, scope, list.key);
}

/**
 * The page that a cursor names: no model is asked and nothing is recalled. Chunks that were withdrawn since are left out.
 *
 * @throws RpcError -32602 for a cursor that this server did not make for this caller, corpus and plan; -32015 when its list has
 *   expired or its version is no longer kept
 * @see RCP §10; DESIGN ruling 12
 */
export async function laterPage(
  cursor: string,
  plan: RetrievalPlan,
  corpus: Corpus | undefined,
  context: RetrievalContext,
): Promise<LaterPage> {
  const place = parseCursor(cursor);
  const { rankedLists, owner, access } = context;
  if (place === undefined || corpus === undefined || rankedLists === undefined) throw notOurs();
  const { key, list } = await rankedLists.find(owner, place.listId, access, statementLimits(context));
  const scope = { owner, corpus: corpus.name, plan };
  if (key === undefined || !isSigned(place, scope, key)) throw notOurs();
  if (list === undefined) throw expired();
  const { indexVersion, candidates } = list;
  const ranked = unpackEntries(list.entries);
  const page = await loadHits(ranked.slice(place.offset), indexVersion, corpus, plan, context);
  if (page === undefined) throw expired();
  const kept = { listId: place.listId, key, length: ranked.length };
  const nextCursor = cursorAfter(page, place.offset, kept, scope);
  return { ...page, indexVersion, candidates, nextCursor };
}

const notOurs = () =>
  invalidParams({ field: "cursor", detail: "must be the nextCursor of the same request, by the same caller" });

const expired = () => notFound("the cursor has expired: ask for the first page again");
