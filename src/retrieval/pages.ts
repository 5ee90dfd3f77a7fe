import type { Corpus } from "../catalog/corpus.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import { invalidParams, notFound } from "../protocol/errors.ts";
import type { RankedList } from "../sql/ranked-lists.ts";
import { type RetrievalContext, statementLimits } from "./context.ts";
import { isSigned, parseCursor, writeCursor } from "./cursor.ts";
import { loadHits, type Page, type Ranked } from "./load-hits.ts";
import { packEntries, unpackEntries } from "./ranked-entries.ts";

/** A page after the first, of the list that the first page's retrieve found. */
export interface LaterPage extends Page {
  readonly indexVersion: string;
  readonly candidates: number;
  readonly nextCursor: string | undefined;
}

/**
 * Keeps the rest of a ranked list for later pages.
 *
 * @param used how many places the first page used up
 * @returns the cursor of the second page; undefined when there is none, or when nothing of the first fitted into the budget: the
 *   second would be no other
 */
export async function keepForPages(
  list: Omit<RankedList, "entries"> & { readonly ranked: readonly Ranked[] },
  used: number,
  plan: RetrievalPlan,
  corpus: Corpus,
  context: RetrievalContext,
): Promise<string | undefined> {
  const { ranked, indexVersion, candidates } = list;
  const { rankedLists, owner, access } = context;
  const kept = ranked.slice(0, plan.maxCandidateK);
  if (rankedLists === undefined || used === 0 || used >= kept.length) return undefined;
  const entries = packEntries(kept);
  const { listId, key } = await rankedLists.keep(
    owner,
    { indexVersion, candidates, entries },
    access,
    statementLimits(context),
  );
  return writeCursor({ listId, offset: used }, { owner, corpus: corpus.name, plan }, key);
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
  const offset = place.offset + page.used;
  const hasNext = page.used > 0 && offset < ranked.length;
  const nextCursor = hasNext ? writeCursor({ listId: place.listId, offset }, scope, key) : undefined;
  return { ...page, indexVersion, candidates, nextCursor };
}

const notOurs = () =>
  invalidParams({ field: "cursor", detail: "must be the nextCursor of the same request, by the same caller" });

const expired = () => notFound("the cursor has expired: ask for the first page again");
