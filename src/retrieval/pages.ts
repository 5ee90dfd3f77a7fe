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
export interface KeptRanking extends KeptList {
  readonly length: number;
}

/**
 * Keeps a ranked list for its later pages.
 *
 * @returns undefined when the first page surely holds all of it, or pages are switched off
 */
export async function keepRanking(
  { ranked, indexVersion, candidates }: Omit<RankedList, "entries"> & { readonly ranked: readonly Ranked[] },
  plan: RetrievalPlan,
  context: RetrievalContext,
): Promise<KeptRanking | undefined> {
  const { rankedLists, owner, access } = context;
  // The first hit is never left for a next page.
  const mayBeCut = ranked.length > 1 && (plan.tokenBudget !== undefined || plan.unit === "document");
  const mayGoOn = ranked.length > plan.k || mayBeCut;
  if (rankedLists === undefined || !mayGoOn) return undefined;
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

export const secondCursor = (
  page: Page,
  kept: KeptRanking | undefined,
  plan: RetrievalPlan,
  corpus: Corpus,
  { owner }: RetrievalContext,
): string | undefined => kept && cursorAfter(page, 0, kept, { owner, corpus: corpus.name, plan });

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
