import { type ChunkTerms, type PostingBlock, packPostings } from "../catalog/posting-block.ts";
import type { ChunkRow } from "../sql/documents.ts";
import type { PreparedDocument } from "./prepare-document.ts";

/** What of a prepared document its chunks are made of. */
export type NumberedDocument = Pick<PreparedDocument, "columns" | "chunks"> & {
  readonly row: Pick<PreparedDocument["row"], "docId">;
};

/** Chunks as they are written. */
export interface NumberedChunks {
  readonly rows: readonly ChunkRow[];
  readonly postings: readonly PostingBlock[];
  /** Terms that they hold together. */
  readonly length: number;
}

/** Gives each chunk its number and vector, in the documents' order. */
export function numberChunks(
  prepared: readonly NumberedDocument[],
  vectors: readonly string[],
  firstChunk: number,
): NumberedChunks {
  const rows: ChunkRow[] = [];
  const postings: ChunkTerms[] = [];
  let length = 0;
  for (const { row, columns, chunks } of prepared) {
    for (const [ordinal, chunk] of chunks.entries()) {
      const chunkNo = firstChunk + rows.length;
      const embedding = vectors[rows.length];
      if (embedding === undefined) throw new Error("the model gave fewer vectors than texts");
      rows.push({
        chunkNo,
        docId: row.docId,
        ordinal,
        terms: chunk.length,
        start: chunk.start,
        end: chunk.end,
        fingerprint: chunk.fingerprint,
        embedding,
        fields: columns,
      });
      postings.push({ chunkNo, length: chunk.length, counts: chunk.termCounts });
      length += chunk.length;
    }
  }
  return { rows, postings: packPostings(postings), length };
}
