import type { CorpusName, TenantId } from "../catalog/corpus.ts";
import type { CorpusKey } from "./documents.ts";
import { compile, noRows, type Sql, type Statement, sql } from "./sql.ts";

/** The statements of the commands that list, revoke and restore sources, as the operator. Each names its tenant itself. */

const of = ({ tenantId, corpus }: CorpusKey): Sql => sql`tenant_id = ${tenantId} and corpus = ${corpus}`;

/** What of a corpus a revocation closed or a restore opened. */
export interface Moved {
  readonly documents: number;
  readonly textBytes: number;
  readonly chunks: number;
  /** Terms that the chunks hold together. */
  readonly length: number;
}

const moved = (row: Readonly<Record<string, unknown>>): Moved => ({
  documents: row.documents as number,
  textBytes: row.text_bytes as number,
  chunks: row.chunks as number,
  length: row.length as number,
});

/** Forgets what is kept of documents that were written again since: no restore brings it back. */
export function forgetSuperseded(key: CorpusKey): Statement {
  return compile(sql`delete from pgrcp.revoked_documents r where ${of(key)} and ${isSuperseded()}`, noRows);
}

const isSuperseded = (): Sql =>
  sql`exists (select from pgrcp.documents d where d.tenant_id = r.tenant_id and d.corpus = r.corpus and d.doc_id = r.doc_id and d.added_version > r.added_version)`;

/** Waits for corpora that are being made and makes others wait: each takes a lock on its tenant's row. */
export function lockTenant(tenantId: TenantId): Statement {
  return compile(sql`select from pgrcp.tenants where tenant_id = ${tenantId} for update`, noRows);
}

export function insertRevocation(tenantId: TenantId, source: string): Statement {
  return compile(
    sql`insert into pgrcp.revoked_sources (tenant_id, source) values (${tenantId}, ${source}) on conflict (tenant_id, source) do nothing`,
    noRows,
  );
}

export function deleteRevocation(tenantId: TenantId, source: string): Statement {
  return compile(sql`delete from pgrcp.revoked_sources where tenant_id = ${tenantId} and source = ${source}`, noRows);
}

/** One row when the tenant has anything by the source, live or not. */
export function selectAnyBy(tenantId: TenantId, source: string): Statement<string> {
  return compile(
    sql`select doc_id from pgrcp.documents where tenant_id = ${tenantId} and source = ${source} limit 1`,
    (row) => row.doc_id as string,
  );
}

/** A tenant's corpora in the order of their names. */
export function selectCorpusNames(tenantId: TenantId): Statement<CorpusName> {
  return compile(
    sql`select corpus from pgrcp.corpora where tenant_id = ${tenantId} order by corpus`,
    (row) => row.corpus as CorpusName,
  );
}

/** One row for each version that can no longer be asked for because it holds a chunk by the source. */
export function withdrawVersionsWith(key: CorpusKey, source: string): Statement<number> {
  return withdrawHolding(key, sql`source = ${source}`);
}

/** One row for each version that can no longer be asked for because it holds a chunk of one of the documents. */
export function withdrawVersionsHolding(key: CorpusKey, docIds: readonly string[]): Statement<number> {
  return withdrawHolding(key, sql`doc_id = any(${docIds}::text[])`);
}

function withdrawHolding(key: CorpusKey, which: Sql): Statement<number> {
  return compile(
    sql`update pgrcp.corpus_versions set token = null where ${of(key)} and token is not null and version <@ (
  select range_agg(int8range(added_version, removed_version)) from pgrcp.documents where ${of(key)} and ${which} and not quarantined)
returning version`,
    (row) => row.version as number,
  );
}

/** One row for each version from this one on that can no longer be asked for. */
export function withdrawVersionsSince(key: CorpusKey, version: number): Statement<number> {
  return compile(
    sql`update pgrcp.corpus_versions set token = null where ${of(key)} and version >= ${version}::bigint and token is not null returning version`,
    (row) => row.version as number,
  );
}

/**
 * Closes what a source has live and keeps it for a restore. One row.
 *
 * `is true` keeps the planner from a join, here and on the way back: what a write returned has no statistics, and a nested loop took
 * 36 s for 8,000 documents of two chunks where a look into a hash table for each chunk takes less than one.
 */
export function closeSource(key: CorpusKey, source: string, version: number): Statement<Moved> {
  return compile(
    sql`with documents as (
  update pgrcp.documents set removed_version = ${version}::bigint where ${of(key)} and source = ${source} and removed_version is null
  returning doc_id, added_version, text_bytes
), kept as (
  insert into pgrcp.revoked_documents (tenant_id, corpus, doc_id, added_version, source, revoked_version)
  select ${key.tenantId}, ${key.corpus}, doc_id, added_version, ${source}, ${version}::bigint from documents
), chunks as (
  update pgrcp.chunks set removed_version = ${version}::bigint
  where ${of(key)} and removed_version is null and (doc_id in (select doc_id from documents)) is true
  returning terms
)
select (select count(*) from documents) as documents, (select coalesce(sum(text_bytes), 0)::bigint from documents) as text_bytes, count(*) as chunks, coalesce(sum(terms), 0)::bigint as length from chunks`,
    moved,
  );
}

/** What was opened again; `since` is the first version that lacked any of it, null when there was nothing. */
export interface Reopened extends Moved {
  readonly since: number | null;
}

/** Opens what is kept of a source, but for documents that were written again since, and keeps nothing of it any longer. One row. */
export function reopenSource(key: CorpusKey, source: string): Statement<Reopened> {
  return compile(
    sql`with kept as (
  delete from pgrcp.revoked_documents where ${of(key)} and source = ${source} returning doc_id, added_version, revoked_version
), newest as (
  select doc_id, added_version, revoked_version from kept
  where ((doc_id, added_version) in (select doc_id, max(added_version) from pgrcp.documents where ${of(key)} group by doc_id)) is true
), documents as (
  update pgrcp.documents set removed_version = null
  where ${of(key)} and removed_version is not null and ((doc_id, added_version) in (select doc_id, added_version from newest)) is true
  returning text_bytes
), chunks as (
  update pgrcp.chunks set removed_version = null
  where ${of(key)} and removed_version is not null and ((doc_id, added_version) in (select doc_id, added_version from newest)) is true
  returning terms
)
select (select count(*) from newest) as documents, (select coalesce(sum(text_bytes), 0)::bigint from documents) as text_bytes, (select min(revoked_version) from newest) as since, count(*) as chunks, coalesce(sum(terms), 0)::bigint as length from chunks`,
    (row) => ({ ...moved(row), since: row.since as number | null }),
  );
}

export interface SourceRow {
  readonly source: string;
  readonly issuers: number;
  /** Distinct principals: subjects of one issuer each. */
  readonly subjects: number;
  /** Live ones, and those that restoring the source would bring back. */
  readonly documents: number;
  readonly chunks: number;
  /** Null for a source of which nothing is left but that it is revoked. */
  readonly firstWrittenAt: string | null;
  readonly lastWrittenAt: string | null;
  readonly revokedAt: string | null;
}

/** Sources by name, revoked ones included. @param corpus undefined for all of the tenant's */
export function selectSources(tenantId: TenantId, corpus: string | undefined): Statement<SourceRow> {
  const inCorpus = corpus === undefined ? sql`` : sql` and d.corpus = ${corpus}`;
  const at = (value: unknown) => (value as Date | null)?.toISOString() ?? null;
  return compile(
    sql`with written as (
  select d.source, count(distinct d.issuer) as issuers, count(distinct (d.issuer, d.subject)) as subjects, count(*) as documents,
    coalesce(sum(d.chunk_count) filter (where not d.quarantined), 0)::bigint as chunks, min(d.written_at) as first_at, max(d.written_at) as last_at
  from pgrcp.documents d left join pgrcp.revoked_documents r
    on r.tenant_id = d.tenant_id and r.corpus = d.corpus and r.doc_id = d.doc_id and r.added_version = d.added_version
  where d.tenant_id = ${tenantId}${inCorpus} and (d.removed_version is null or r.doc_id is not null)
  group by d.source
), revoked as (
  select source, revoked_at from pgrcp.revoked_sources where tenant_id = ${tenantId}
)
select coalesce(w.source, v.source) collate "C" as source, coalesce(w.issuers, 0) as issuers, coalesce(w.subjects, 0) as subjects, coalesce(w.documents, 0) as documents,
  coalesce(w.chunks, 0) as chunks, w.first_at, w.last_at, v.revoked_at
from written w full join revoked v on v.source = w.source order by 1`,
    (row) => ({
      source: row.source as string,
      issuers: row.issuers as number,
      subjects: row.subjects as number,
      documents: row.documents as number,
      chunks: row.chunks as number,
      firstWrittenAt: at(row.first_at),
      lastWrittenAt: at(row.last_at),
      revokedAt: at(row.revoked_at),
    }),
  );
}
