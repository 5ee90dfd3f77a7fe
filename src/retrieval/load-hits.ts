import type { Corpus } from "../catalog/corpus.ts";
import type { RetrievalPlan } from "../plan/retrieval-plan.ts";
import type { Hit } from "../protocol/wire.ts";
import { isSamePlace } from "../sql/place.ts";
import { type HitFields, type HitRow, hitRows } from "../sql/ranked-chunks.ts";
import { corpusState } from "../sql/recall.ts";
import { lookUpAgain, type RetrievalContext, readChunks, statementLimits } from "./context.ts";
import { packToBudget } from "./pack.ts";
import { redactMeta } from "./redact-meta.ts";
import { type HitScores, shapeHit } from "./shape-hits.ts";

/** A place in a ranked list. */
export interface Ranked extends HitScores {
  readonly chunkNo: number;
  /** Its row, where recall brought it along. */
  readonly hit?: HitRow | undefined;
}

/** What of a hit a plan reads. */
export function shownFields({
  unit,
  includeText,
  includeVectors,
  tokenBudget,
  maxHitCharacters,
}: RetrievalPlan): HitFields {
  const needsText = includeText || tokenBudget !== undefined;
  return { unit, maxCharacters: needsText ? maxHitCharacters : 0, vector: includeVectors };
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
 * The next hits of a ranked list: at most `k`, and as many as fit into the budget and into one answer, whichever binds first; the
 * first one fits into an answer however long it is. A chunk that was withdrawn since it was ranked is left out.
 *
 * @param ranked what is left of the list
 * @param pin the version that must still be there, or else what was read of it may have holes: its token goes before its rows do
 * @returns undefined when it is not
 */
export async function loadHits(
  ranked: readonly Ranked[],
  pin: string | undefined,
  corpus: Corpus,
  plan: RetrievalPlan,
  context: RetrievalContext,
): Promise<Page | undefined> {
  const places = ranked.slice(0, plan.k);
  const show = shownFields(plan);
  const read = await rowsOf(places, show, pin, corpus, context);
  if (read === undefined) return undefined;
  const rows = new Map(read.map((row) => [row.chunkNo, row]));
  const found = places.flatMap((place, index) => {
    const row = rows.get(place.chunkNo);
    return row === undefined ? [] : [{ place, row, index }];
  });
  const tooFar = show.maxCharacters > 0 ? found.findIndex(({ row }) => row.text === undefined) : -1;
  const fitting = tooFar < 0 ? found : found.slice(0, tooFar);
  const { items, tokens, note } = await pack(fitting, plan, context);
  const last = found[items.length];
  return {
    hits: items.map(({ place, row }) => shapeHit(place, shownOf(row, plan, context), plan.unit)),
    rows: items.map(({ row }) => row),
    used: last === undefined ? places.length : last.index,
    tokens,
    notes: note === undefined ? [] : [note],
  };
}

/** What of a row callers may see, and asked to. */
const shownOf = (row: HitRow, { includeText }: RetrievalPlan, { redactedMeta }: RetrievalContext): HitRow => ({
  ...row,
  ...(!includeText && { text: undefined, context: undefined }),
  meta: redactMeta(row.meta, redactedMeta),
});

/** Rows that recall brought along are of the snapshot in which it found the version; those that are read now need not be. */
async function rowsOf(
  places: readonly Ranked[],
  show: HitFields,
  pin: string | undefined,
  corpus: Corpus,
  context: RetrievalContext,
): Promise<readonly HitRow[] | undefined> {
  const brought = places.flatMap(({ hit }) => hit ?? []);
  if (brought.length === places.length && (brought.length > 0 || pin === undefined)) return brought;
  const numbers = places.map(({ chunkNo }) => chunkNo);
  return await readHits(numbers, show, pin, corpus, context);
}

/** Rows and pin in one snapshot: one that has the token has every row, and so had those before it. */
async function readHits(
  numbers: readonly number[],
  show: HitFields,
  pin: string | undefined,
  corpus: Corpus,
  context: RetrievalContext,
): Promise<readonly HitRow[] | undefined> {
  if (pin === undefined) return await readChunks(context, corpus, numbers, (there) => hitRows(there, numbers, show));
  const { database, access } = context;
  const statements = [hitRows(corpus, numbers, show), corpusState(corpus, { pin })] as const;
  const [rows, [state]] = await database.readCorpus({ corpus, pin }, access, statements, statementLimits(context));
  if (state === undefined) return undefined;
  if (isSamePlace(state.place, corpus)) return rows;
  return await readHits(numbers, show, pin, await lookUpAgain(corpus, context), context);
}

async function pack<Item extends { readonly row: HitRow }>(
  items: readonly Item[],
  { tokenBudget }: RetrievalPlan,
  { embedding, access }: RetrievalContext,
): Promise<{ items: readonly Item[]; tokens: number | undefined; note?: string }> {
  if (tokenBudget === undefined) return { items, tokens: undefined };
  const packed = await packToBudget(
    items,
    ({ row }) => row.text ?? "",
    tokenBudget,
    (texts) => embedding.countTokens(texts, access.tenantId),
  );
  const { firstIsOver, tokens } = packed;
  if (firstIsOver === undefined) return { items: packed.items, tokens };
  return { items: [], tokens, note: `the first hit has ${firstIsOver} tokens, more than tokenBudget` };
}
