import { setImmediate as nextTurn } from "node:timers/promises";
import { GatheredTerms, type PostingBlock } from "../catalog/posting-block.ts";
import type { ChunkRow } from "../sql/documents.ts";
import type { PreparedDocument } from "./prepare-document.ts";

/** What of a prepared document its chunks are made of. */
export type NumberedDocument = Pick<PreparedDocument, "columns" | "chunks"> & {
  readonly row: Pick<PreparedDocument["row"], "docId">;
};

/** Chunks that need only their numbers to be written. */
export interface GatheredChunks {
  readonly rows: readonly Omit<ChunkRow, "chunkNo">[];
  readonly terms: GatheredTerms;
  /** Terms that they hold together. */
  readonly length: number;
}

/** Gives each chunk its vector, in the documents' order. */
export async function gatherChunks(
  prepared: readonly NumberedDocument[],
  vectors: readonly string[],
): Promise<GatheredChunks> {
  const rows: Omit<ChunkRow, "chunkNo">[] = [];
  const terms = new GatheredTerms();
  let length = 0;
  for (const { row, columns, chunks } of prepared) {
    for (const [ordinal, chunk] of chunks.entries()) {
      const embedding = vectors[rows.length];
      if (embedding === undefined) throw new Error("the model gave fewer vectors than texts");
      terms.add(rows.length, { length: chunk.length, counts: chunk.termCounts });
      rows.push({
        docId: row.docId,
        ordinal,
        terms: chunk.length,
        start: chunk.start,
        end: chunk.end,
        fingerprint: chunk.fingerprint,
        embedding,
        fields: columns,
      });
      length += chunk.length;
    }
    await nextTurn(); // many documents must not hold up other requests together
  }
  return { rows, terms, length };
}

/** Chunks as they are written. */
export interface NumberedChunks {
  readonly rows: readonly ChunkRow[];
  readonly postings: readonly PostingBlock[];
}

/** Numbers them from `firstChunk` on: all that is left to do under the corpus's lock. */
export const numberChunks = ({ rows, terms }: GatheredChunks, firstChunk: number): NumberedChunks => ({
  rows: rows.map((row, nth) => ({ ...row, chunkNo: firstChunk + nth })),
  postings: terms.pack(firstChunk),
});
