import type { FilterFields, TenantId } from "../catalog/corpus.ts";
import type { EmbeddingModel } from "../models/embedding.ts";
import { columnValue } from "../plan/check-meta.ts";
import { member } from "../protocol/params.ts";
import type { TrustLevel } from "../protocol/wire.ts";
import { embedInBatches } from "./embed-batches.ts";
import type { NumberedDocument } from "./number-chunks.ts";
import { cutText, prepareChunks, titleForChunks } from "./prepare-document.ts";

/** A document that is stored without chunks. */
export interface StoredDocument {
  readonly docId: string;
  readonly title: string | null;
  readonly trust: TrustLevel;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly text: string;
}

export interface ChunkAgainContext {
  readonly tenantId: TenantId;
  readonly language: string;
  readonly embedding: EmbeddingModel;
  readonly fields: FilterFields;
  readonly chunkTokens: number;
  readonly overlapTokens: number;
  readonly embedBatch: number;
}

const NEVER = new AbortController().signal;

/**
 * Chunks and vectors of stored documents, made as if they were added now, by the settings of now and without contexts. A value that
 * does not fit its field's type, which may be newer than the document, is none.
 *
 * @throws RpcError -32010 when the model gives no vectors
 */
export async function chunkAgain(
  stored: readonly StoredDocument[],
  context: ChunkAgainContext,
): Promise<{ readonly documents: readonly NumberedDocument[]; readonly vectors: readonly string[] }> {
  const { tenantId, language, embedding, fields, embedBatch } = context;
  const documents: NumberedDocument[] = [];
  for (const { docId, title, trust, meta, text } of stored) {
    const read = titleForChunks(title ?? undefined);
    const pieces = await cutText(text, read, { ...context, by: context, chunk: true, contextual: false });
    const columns = new Map(
      [...fields.values()].map((field) => [field.name, columnValue(field, member(meta, field.name)) ?? null]),
    );
    documents.push({
      row: { docId },
      columns,
      chunks: await prepareChunks({ title: read, trust, language }, pieces, undefined),
    });
  }
  const texts = documents.flatMap(({ chunks }) => chunks.map(({ modelText }) => modelText));
  return { documents, vectors: await embedInBatches(embedding, texts, embedBatch, NEVER, tenantId) };
}
