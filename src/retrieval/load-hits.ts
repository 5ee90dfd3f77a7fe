import type { Corpus } from "../catalog/corpus.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import type { Hit } from "../protocol/wire.ts";
import { type HitRow, hitRows } from "../sql/recall.ts";
import { type RetrievalContext, readRows } from "./context.ts";
import { versionGone } from "./find-candidates.ts";
import { packToBudget } from "./pack.ts";
import { type HitScores, shapeHit } from "./shape-hits.ts";

/** A place in a ranked list. */
export interface Ranked extends HitScores {
  readonly chunkNo: number;
}

/** One page of a ranked list. */
export interface Page {
  readonly hits: readonly Hit[];
  /** Of the hits, in their order. */
  readonly rows: readonly HitRow[];
  /** How many places of the list the page used up. */
  readonly used: number;
  /** Of all bodies together; undefined without a budget. */
  readonly tokens: number | undefined;
  readonly notes: readonly string[];
}

export const emptyPage = ({ tokenBudget }: RetrievalPlan): Page => ({
  hits: [],
  rows: [],
  used: 0,
  tokens: tokenBudget === undefined ? undefined : 0,
  notes: [],
});

/**
 * The next hits of a ranked list: at most `k`, and as many as fit into the budget, whichever binds first. A chunk that was withdrawn
 * since it was ranked is left out.
 *
 * @param ranked what is left of the list
 * @throws RpcError -32010 when a chunk of the pinned version is gone: the version is no longer kept whole
 */
export async function loadHits(
  ranked: readonly Ranked[],
  corpus: Corpus,
  plan: RetrievalPlan,
  context: RetrievalContext,
): Promise<Page> {
  const places = ranked.slice(0, plan.k);
  if (places.length === 0) return emptyPage(plan);
  const { unit, includeText, includeVectors, tokenBudget } = plan;
  const show = { unit, text: includeText || tokenBudget !== undefined, vector: includeVectors };
  const numbers = places.map(({ chunkNo }) => chunkNo);
  const rows = new Map((await readRows(context, hitRows(corpus, numbers, show))).map((row) => [row.chunkNo, row]));
  if (plan.indexVersion !== undefined && rows.size < places.length) throw versionGone();
  const found = places.flatMap((place, index) => {
    const row = rows.get(place.chunkNo);
    return row === undefined ? [] : [{ place, row, index }];
  });
  const { items, tokens, note } = await pack(found, plan, context);
  const last = found[items.length];
  return {
    hits: items.map(({ place, row }) => shapeHit(place, includeText ? row : { ...row, text: undefined }, unit)),
    rows: items.map(({ row }) => row),
    used: last === undefined ? places.length : last.index,
    tokens,
    notes: note === undefined ? [] : [note],
  };
}

async function pack<Item extends { readonly row: HitRow }>(
  items: readonly Item[],
  { tokenBudget }: RetrievalPlan,
  { embedding }: RetrievalContext,
): Promise<{ items: readonly Item[]; tokens: number | undefined; note?: string }> {
  if (tokenBudget === undefined) return { items, tokens: undefined };
  const packed = await packToBudget(
    items,
    ({ row }) => row.text ?? "",
    tokenBudget,
    (texts) => embedding.countTokens(texts),
  );
  const { firstIsOver, tokens } = packed;
  if (firstIsOver === undefined) return { items: packed.items, tokens };
  return { items: [], tokens, note: `the first hit has ${firstIsOver} tokens, more than tokenBudget` };
}
