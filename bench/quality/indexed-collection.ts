import type { TenantId } from "../../src/catalog/corpus.ts";
import { packPostings, type TermBlock } from "../../src/catalog/posting-block.ts";
import { cutText, prepareChunks, titleForChunks } from "../../src/indexing/prepare-document.ts";
import type { EmbeddingModel } from "../../src/models/embedding.ts";
import { termBlocks } from "../../test/support/bm25-input.ts";
import type { Collection } from "./collection.ts";
import type { KeptVectors } from "./kept-vectors.ts";

/** How documents become chunks, and chunks terms. */
export interface Indexing {
  /** Infinity = one chunk a document, of which the model reads as much as it can. */
  readonly chunkTokens: number;
  readonly overlapTokens: number;
  /** Whether the title is read with every chunk. */
  readonly titled: boolean;
}

export interface IndexedChunk {
  readonly docId: string;
  readonly ordinal: number;
  readonly terms: ReadonlyMap<string, number>;
  readonly length: number;
  readonly vector: Float32Array;
}

/** The chunks of a collection as the server stores them, by their number. */
export interface ChunkedCollection {
  readonly chunks: readonly IndexedChunk[];
  readonly blocksOf: ReadonlyMap<string, readonly TermBlock[]>;
  readonly averageLength: number;
}

const BENCH = "bench" as TenantId;

/** Cuts, tokenises and embeds with the functions that `index/add` calls. */
export async function indexCollection(
  { documents }: Collection,
  { chunkTokens, overlapTokens, titled }: Indexing,
  language: string,
  model: EmbeddingModel,
  vectors: KeptVectors,
  onProgress: (left: number) => void,
): Promise<ChunkedCollection> {
  const cutting = {
    embedding: model,
    by: { tenantId: BENCH },
    chunk: chunkTokens !== Number.POSITIVE_INFINITY,
    contextual: false,
    chunkTokens,
    overlapTokens,
  };
  const prepared = [];
  for (const document of documents) {
    const title = titled ? titleForChunks(document.title) : "";
    const pieces = await cutText(document.text, title, cutting);
    const chunks = await prepareChunks({ title, trust: "untrusted", language }, pieces, undefined);
    prepared.push(...chunks.map((chunk, ordinal) => ({ ...chunk, docId: document.id, ordinal })));
  }
  const embedded = await vectors.embed(
    prepared.map(({ modelText }) => modelText),
    "document",
    onProgress,
  );
  const chunks = prepared.map(
    ({ docId, ordinal, termCounts, length }, index): IndexedChunk => ({
      ...{ docId, ordinal, terms: termCounts, length },
      vector: embedded[index] ?? new Float32Array(),
    }),
  );
  const packed = packPostings(chunks.map(({ terms, length }, chunkNo) => ({ chunkNo, length, counts: terms })));
  return {
    chunks,
    blocksOf: Map.groupBy(termBlocks(packed), ({ term }) => term),
    averageLength: chunks.reduce((sum, { length }) => sum + length, 0) / chunks.length,
  };
}
