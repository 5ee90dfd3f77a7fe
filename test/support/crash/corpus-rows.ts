import type { AdminConnection } from "../../../src/db/admin-connection.ts";
import { compile, sql } from "../../../src/sql/sql.ts";

/** Everything that the database holds of a test's one corpus, live and closed. */
export interface CorpusRows {
  /** Undefined before the first write. */
  readonly corpus: (Totals & { readonly version: number }) | undefined;
  readonly versions: readonly VersionRow[];
  readonly documents: readonly DocumentRow[];
  readonly texts: readonly TextRow[];
  readonly chunks: readonly ChunkRow[];
  readonly postings: readonly PostingRow[];
}

export interface Totals {
  readonly liveDocuments: number;
  readonly liveChunks: number;
  readonly liveLength: number;
  readonly nextChunk: number;
}

export interface VersionRow extends Totals {
  readonly version: number;
  readonly token: string;
}

/** Rows with a life: seen from `added` on, and not from `removed` on. */
export interface Lifetime {
  readonly added: number;
  readonly removed: number | null;
}

export interface DocumentRow extends Lifetime {
  readonly id: string;
  readonly title: string;
  readonly chunkCount: number;
}

export interface TextRow {
  readonly id: string;
  readonly added: number;
  readonly body: string;
}

export interface ChunkRow extends Lifetime {
  readonly id: string;
  readonly number: number;
  readonly ordinal: number;
  readonly terms: number;
  readonly start: number;
  readonly end: number;
}

export interface PostingRow {
  readonly term: string;
  readonly block: number;
  readonly n: number;
  readonly packed: Uint8Array;
  readonly wide: Uint8Array;
}

export const isLiveAt = ({ added, removed }: Lifetime, version: number): boolean =>
  added <= version && (removed === null || removed > version);

const TOTALS = sql`live_documents as "liveDocuments", live_chunks as "liveChunks", live_length as "liveLength", next_chunk as "nextChunk"`;
const LIFETIME = sql`doc_id as id, added_version as added, removed_version as removed`;

/** Reads one connection's view; nobody may write meanwhile. */
export async function readCorpusRows(admin: AdminConnection): Promise<CorpusRows> {
  const rows = <Row>(query: ReturnType<typeof sql>) => admin.query(compile(query, (row) => row as unknown as Row));
  const [corpus] = await rows<Totals & { version: number }>(sql`select version, ${TOTALS} from pgrcp.corpora`);
  return {
    corpus,
    versions: await rows(sql`select version, token, ${TOTALS} from pgrcp.corpus_versions order by version`),
    documents: await rows(sql`select ${LIFETIME}, title, chunk_count as "chunkCount" from pgrcp.documents`),
    texts: await rows(sql`select doc_id as id, added_version as added, body from pgrcp.document_texts`),
    chunks: await rows(
      sql`select ${LIFETIME}, chunk_no as number, ordinal, terms, start_offset as start, end_offset as end
from pgrcp.chunks order by chunk_no`,
    ),
    postings: await rows(sql`select term, block, n, packed, wide from pgrcp.postings`),
  };
}
