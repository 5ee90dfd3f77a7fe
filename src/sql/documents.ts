import type { CorpusName, EmbeddingSpace, FilterField, ScreeningPolicy, TenantId } from "../catalog/corpus.ts";
import type { ColumnValue } from "../plan/check-meta.ts";
import type { TrustLevel } from "../protocol/wire.ts";
import { COLUMN_TYPES } from "./column-types.ts";
import { isIn, type Place } from "./place.ts";
import { compile, identifier, joinSql, noRows, type Sql, type Statement, sql } from "./sql.ts";

/**
 * The statements of a write, in the order that the database's triggers ask for: lock the corpus, close documents, insert
 * documents, close chunks, insert chunks, count, record the version (DESIGN section 4).
 */

export interface CorpusKey {
  readonly tenantId: TenantId;
  readonly corpus: CorpusName;
}

const of = ({ tenantId, corpus }: CorpusKey): Sql => sql`tenant_id = ${tenantId} and corpus = ${corpus}`;

export interface CorpusCounters {
  readonly version: number;
  readonly nextChunk: number;
  readonly liveDocuments: number;
  /** Of live documents, in UTF-8. */
  readonly liveTextBytes: number;
  readonly liveChunks: number;
  readonly liveLength: number;
}

/** A corpus as it is while the write holds its lock: what was known of it before may be stale. */
export interface LockedCorpus extends CorpusCounters, Place {
  readonly language: string;
  readonly space: EmbeddingSpace;
  readonly screening: ScreeningPolicy;
}

/** Takes the corpus's row lock, which orders its writers. No row: no such corpus. */
export function lockCorpus(key: CorpusKey): Statement<LockedCorpus> {
  return compile(
    sql`select version, next_chunk, live_documents, live_text_bytes, live_chunks, live_length, language, model_identity, dimension, screening, placement, moving_from from pgrcp.corpora where ${of(key)} for update`,
    (row) => ({
      version: row.version as number,
      nextChunk: row.next_chunk as number,
      liveDocuments: row.live_documents as number,
      liveTextBytes: row.live_text_bytes as number,
      liveChunks: row.live_chunks as number,
      liveLength: row.live_length as number,
      language: row.language as string,
      space: { identity: row.model_identity as string, dimension: row.dimension as number },
      screening: row.screening as ScreeningPolicy,
      placement: row.placement as string,
      movingFrom: (row.moving_from as string | null) ?? undefined,
    }),
  );
}

/** One row: how many of these documents are live. */
export function countLive(key: CorpusKey, docIds: readonly string[]): Statement<number> {
  return compile(
    sql`select count(*) as live from pgrcp.documents where ${of(key)} and doc_id = any(${docIds}::text[]) and removed_version is null`,
    (row) => row.live as number,
  );
}

/** One row per document that was live: the bytes of its text. */
export function closeDocuments(key: CorpusKey, docIds: readonly string[], version: number): Statement<number> {
  return compile(
    sql`update pgrcp.documents set removed_version = ${version} where ${of(key)} and doc_id = any(${docIds}::text[]) and removed_version is null returning text_bytes`,
    (row) => row.text_bytes as number,
  );
}

/** One row: how many chunks were closed and how many terms they held together. */
export function closeChunks(
  key: CorpusKey,
  place: Place,
  docIds: readonly string[],
  version: number,
): Statement<{ readonly chunks: number; readonly length: number }> {
  return compile(
    sql`with closed as (update pgrcp.chunks set removed_version = ${version} where ${of(key)} and placement${isIn(place)} and doc_id = any(${docIds}::text[]) and removed_version is null returning terms) select count(*) as chunks, coalesce(sum(terms), 0)::bigint as length from closed`,
    (row) => ({ chunks: row.chunks as number, length: row.length as number }),
  );
}

export interface DocumentRow {
  readonly docId: string;
  readonly body: string;
  readonly title: string | null;
  readonly uri: string | null;
  readonly language: string | null;
  readonly trust: TrustLevel;
  readonly injectionSuspected: boolean;
  readonly quarantined: boolean;
  /** JSON text, kept byte for byte. */
  readonly meta: string;
  readonly chunkCount: number;
  /** Of the body, in UTF-8. */
  readonly textBytes: number;
  /** One for each chunk, "" = none; null when none were asked for. */
  readonly contexts: readonly string[] | null;
}

/** Who writes, the same for every document of a call. */
export interface Provenance {
  readonly source: string;
  readonly issuer: string;
  readonly subject: string;
  readonly tokenId: string | undefined;
}

export function insertDocuments(
  key: CorpusKey,
  version: number,
  by: Provenance,
  rows: readonly DocumentRow[],
): Statement {
  const column = <Value extends string | boolean | null>(read: (row: DocumentRow) => Value) => rows.map(read);
  return compile(
    sql`insert into pgrcp.documents (tenant_id, corpus, doc_id, added_version, title, uri, language, source, issuer, subject, token_id, trust, injection_suspected, quarantined, meta, chunk_count, text_bytes)
select ${key.tenantId}, ${key.corpus}, d.doc_id, ${version}::bigint, d.title, d.uri, d.language, ${by.source}, ${by.issuer}, ${by.subject}, ${by.tokenId ?? null}, d.trust, d.injection_suspected, d.quarantined, d.meta::json, d.chunk_count, d.text_bytes
from unnest(${column((r) => r.docId)}::text[], ${column((r) => r.title)}::text[], ${column((r) => r.uri)}::text[], ${column((r) => r.language)}::text[], ${column((r) => r.trust)}::text[], ${column((r) => r.injectionSuspected)}::boolean[], ${column((r) => r.quarantined)}::boolean[], ${column((r) => r.meta)}::text[], ${rows.map((r) => r.chunkCount)}::int[], ${rows.map((r) => r.textBytes)}::bigint[])
as d(doc_id, title, uri, language, trust, injection_suspected, quarantined, meta, chunk_count, text_bytes)`,
    noRows,
  );
}

export function insertTexts(key: CorpusKey, version: number, rows: readonly DocumentRow[]): Statement {
  return compile(
    sql`insert into pgrcp.document_texts (tenant_id, corpus, doc_id, added_version, body, contexts) select ${key.tenantId}, ${key.corpus}, d.doc_id, ${version}::bigint, d.body, d.contexts::json from unnest(${rows.map((r) => r.docId)}::text[], ${rows.map((r) => r.body)}::text[], ${rows.map((r) => r.contexts && JSON.stringify(r.contexts))}::text[]) as d(doc_id, body, contexts)`,
    noRows,
  );
}

export interface ChunkRow {
  readonly chunkNo: number;
  readonly docId: string;
  readonly ordinal: number;
  /** Length in terms, for BM25. */
  readonly terms: number;
  readonly start: number;
  readonly end: number;
  /** 128 times 0 or 1; null = near to none. */
  readonly fingerprint: string | null;
  /** `[…]`, as pgvector reads it. */
  readonly embedding: string;
  /** By field name; absent = null. */
  readonly fields: ReadonlyMap<string, ColumnValue>;
}

/** An unnest column that carries a field's values as text: scalars in their own spelling, arrays as JSON. */
function fieldColumn(
  field: FilterField,
  rows: readonly ChunkRow[],
  index: number,
): { argument: Sql; alias: Sql; value: Sql } {
  const alias = identifier(`v${index}`);
  const type = COLUMN_TYPES[field.type].element;
  const values = rows.map((row) => {
    const value = row.fields.get(field.name) ?? null;
    if (value === null) return null;
    return field.array ? JSON.stringify(value) : String(value);
  });
  const value = field.array
    ? sql`case when c.${alias} is null then null else array(select e.value::${type} from json_array_elements_text(c.${alias}::json) with ordinality as e(value, place) order by e.place) end`
    : sql`c.${alias}::${type}`;
  return { argument: sql`${values}::text[]`, alias, value };
}

/** Inserts chunks into the corpus's partition, with one typed value per filter field. */
export function insertChunks(
  key: CorpusKey,
  placement: string,
  version: number,
  fields: readonly FilterField[],
  rows: readonly ChunkRow[],
): Statement {
  const columns = fields.map((field, index) => fieldColumn(field, rows, index));
  const list = (pieces: readonly Sql[]): Sql =>
    joinSql(
      pieces.map((piece) => sql`, ${piece}`),
      sql``,
    );
  return compile(
    sql`insert into pgrcp.chunks (tenant_id, corpus, placement, chunk_no, doc_id, ordinal, added_version, terms, start_offset, end_offset, fingerprint, embedding${list(fields.map((field) => identifier(field.column)))})
select ${key.tenantId}, ${key.corpus}, ${placement}, c.chunk_no, c.doc_id, c.ordinal, ${version}::bigint, c.terms, c.start_offset, c.end_offset, c.fingerprint, c.embedding::halfvec${list(columns.map((column) => column.value))}
from unnest(${rows.map((r) => r.chunkNo)}::int[], ${rows.map((r) => r.docId)}::text[], ${rows.map((r) => r.ordinal)}::int[], ${rows.map((r) => r.terms)}::int[], ${rows.map((r) => r.start)}::int[], ${rows.map((r) => r.end)}::int[], ${rows.map((r) => r.fingerprint)}::bit(128)[], ${rows.map((r) => r.embedding)}::text[]${list(columns.map((column) => column.argument))})
as c(chunk_no, doc_id, ordinal, terms, start_offset, end_offset, fingerprint, embedding${list(columns.map((column) => column.alias))})`,
    noRows,
  );
}

export interface NewVersion {
  readonly counters: CorpusCounters;
  readonly token: string;
  readonly action: "add" | "delete" | "revoke" | "restore" | "purge" | "quarantine" | "release";
  /** How many documents it was about, for the audit record. */
  readonly documents: number;
  readonly issuer: string;
  readonly subject: string;
  readonly tokenId: string | undefined;
}

/** Moves the corpus to its new version. The deleter may not touch `next_chunk`, so only what makes chunks sets it. */
export function advanceCorpus(key: CorpusKey, { counters, action }: NewVersion): Statement {
  const nextChunk = action === "add" || action === "release" ? sql`, next_chunk = ${counters.nextChunk}` : sql``;
  return compile(
    sql`update pgrcp.corpora set version = ${counters.version}, live_documents = ${counters.liveDocuments}, live_text_bytes = ${counters.liveTextBytes}, live_chunks = ${counters.liveChunks}, live_length = ${counters.liveLength}${nextChunk} where ${of(key)}`,
    noRows,
  );
}

/** One row per committed write: the audit trail and the list of snapshots in one. */
export function recordVersion(
  key: CorpusKey,
  { counters, token, action, documents, issuer, subject, tokenId }: NewVersion,
): Statement {
  return compile(
    sql`insert into pgrcp.corpus_versions (tenant_id, corpus, version, token, issuer, subject, token_id, action, documents, live_documents, live_chunks, live_length, next_chunk) values (${key.tenantId}, ${key.corpus}, ${counters.version}, ${token}, ${issuer}, ${subject}, ${tokenId ?? null}, ${action}, ${documents}, ${counters.liveDocuments}, ${counters.liveChunks}, ${counters.liveLength}, ${counters.nextChunk})`,
    noRows,
  );
}
