import type { Corpus } from "../catalog/corpus.ts";
import type { DocumentPlan } from "../plan/plan-document.ts";
import type { Hit } from "../protocol/wire.ts";
import { chunkOfDocument, hitRows } from "../sql/ranked-chunks.ts";
import { type RetrievalContext, readChunks } from "./context.ts";
import { redactMeta } from "./redact-meta.ts";
import { shapeHit } from "./shape-hits.ts";

/** A hit that nobody ranked. */
export type DocumentView = Omit<Hit, "score" | "scores">;

const UNRANKED = { score: 0, dense: undefined, sparse: undefined };

type Reading = Pick<RetrievalContext, "database" | "corpora" | "access" | "limits" | "redactedMeta">;

/**
 * A live document, or one of its chunks, as a hit would show it.
 *
 * @returns undefined where there is none: it never was, was deleted, or is held back
 */
export async function readDocument(
  { docId, ordinal, unit }: DocumentPlan,
  corpus: Corpus,
  context: Reading,
): Promise<DocumentView | undefined> {
  const [chunkNo] = await readChunks(context, corpus, [ordinal], (there) => chunkOfDocument(there, docId, ordinal));
  if (chunkNo === undefined) return undefined;
  // The first text of a list is shown however long it is.
  const show = { unit, maxCharacters: 1, vector: false };
  const [row] = await readChunks(context, corpus, [chunkNo], (there) => hitRows(there, [chunkNo], show));
  if (row === undefined) return undefined;
  const shown = { ...row, meta: redactMeta(row.meta, context.redactedMeta) };
  const { score: _score, scores: _scores, ...document } = shapeHit(UNRANKED, shown, unit);
  return document;
}
