import type { CorpusKey } from "./documents.ts";
import { compile, type Sql, type Statement, sql } from "./sql.ts";

/** The statements that erase documents, each with every version of it, as the operator. */

const of = ({ tenantId, corpus }: CorpusKey): Sql => sql`tenant_id = ${tenantId} and corpus = ${corpus}`;

export interface ErasedChunks {
  readonly chunkNos: readonly number[];
  readonly liveChunks: number;
  /** Terms in the live ones. */
  readonly liveLength: number;
}

/** One row. Postings that name the chunks stay. */
export function eraseChunks(key: CorpusKey, docIds: readonly string[]): Statement<ErasedChunks> {
  return compile(
    sql`with erased as (
  delete from pgrcp.chunks where ${of(key)} and doc_id = any(${docIds}::text[]) returning chunk_no, terms, removed_version is null as live
)
select coalesce(array_agg(chunk_no), '{}') as chunk_nos, count(*) filter (where live) as live_chunks, coalesce(sum(terms) filter (where live), 0)::bigint as live_length from erased`,
    (row) => ({
      chunkNos: row.chunk_nos as number[],
      liveChunks: row.live_chunks as number,
      liveLength: row.live_length as number,
    }),
  );
}

export interface ErasedDocument {
  readonly docId: string;
  readonly isLive: boolean;
  readonly textBytes: number;
}

/** One row for each document and version of it, all erased with their texts. */
export function eraseDocuments(key: CorpusKey, docIds: readonly string[]): Statement<ErasedDocument> {
  const those = sql`${of(key)} and doc_id = any(${docIds}::text[])`;
  return compile(
    sql`with erased as (
  delete from pgrcp.documents where ${those} returning doc_id, removed_version is null as live, text_bytes
), texts as (
  delete from pgrcp.document_texts where ${those}
)
select doc_id, live, text_bytes from erased`,
    (row) => ({ docId: row.doc_id as string, isLive: row.live as boolean, textBytes: row.text_bytes as number }),
  );
}
