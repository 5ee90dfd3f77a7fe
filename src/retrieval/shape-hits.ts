import type { Hit, Unit } from "../protocol/wire.ts";
import type { HitRow } from "../sql/ranked-chunks.ts";
import type { ScoredCandidate } from "./candidate.ts";

/** An id that ends like a chunk's number is shown with its own `#0`, so that the last `#n` can always be taken off. */
const LOOKS_LIKE_CHUNK = /#\d+$/;

/** `docId` for a document of one chunk, else `docId#n` (DESIGN section 1). */
export const hitId = (docId: string, ordinal: number, chunkCount: number): string =>
  chunkCount === 1 && !LOOKS_LIKE_CHUNK.test(docId) ? docId : `${docId}#${ordinal}`;

/** What a hit says of scores. */
export type HitScores = Pick<ScoredCandidate, "score" | "dense" | "sparse" | "rerank">;

/**
 * A candidate as the wire shows it (RCP §7.7 Hit). A document has the id that it has as one chunk, and `chunk`, scores and vector of the chunk that it
 * was found by.
 */
export function shapeHit(candidate: HitScores, row: HitRow, unit: Unit): Hit {
  return {
    id: unit === "document" ? hitId(row.docId, 0, 1) : hitId(row.docId, row.ordinal, row.chunkCount),
    score: candidate.score,
    ...(row.text === undefined ? {} : { text: row.text }),
    unit,
    meta: row.meta,
    ...(row.vector === undefined ? {} : { vector: row.vector }),
    scores: {
      ...(candidate.dense === undefined ? {} : { dense: candidate.dense }),
      ...(candidate.sparse === undefined ? {} : { sparse: candidate.sparse }),
      ...(candidate.rerank === undefined ? {} : { rerank: candidate.rerank }),
    },
    citation: {
      source: row.source,
      ...(row.uri === undefined ? {} : { uri: row.uri }),
      ...(row.title === undefined ? {} : { title: row.title }),
      start: row.start,
      end: row.end,
    },
    trust: { level: row.trust, injectionSuspected: row.injectionSuspected },
    chunk: {
      docId: row.docId,
      index: row.ordinal,
      ...(row.context === undefined ? {} : { context: row.context }),
    },
  };
}
