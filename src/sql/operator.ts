import type { EmbeddingSpace, ScreeningPolicy, TenantId } from "../catalog/corpus.ts";
import type { Quotas } from "./quotas.ts";
import { compile, identifier, joinSql, noRows, type Sql, type Statement, sql } from "./sql.ts";

/** The statements of the command line, which works across tenants as the operator. Each names its tenant itself. */

const count = (value: unknown): number => value as number;

/** One row when there is such a tenant. */
export function selectTenant(tenantId: string): Statement<TenantId> {
  return compile(
    sql`select tenant_id from pgrcp.tenants where tenant_id = ${tenantId}`,
    (row) => row.tenant_id as TenantId,
  );
}

export interface TenantRow {
  readonly tenant: string;
  readonly createdAt: string;
  readonly corpora: number;
  readonly documents: number;
  readonly textBytes: number;
  readonly chunks: number;
  /** Null: those of the configuration. */
  readonly ownQuotas: Quotas | null;
}

export function selectTenants(): Statement<TenantRow> {
  return compile(
    sql`select t.tenant_id, t.created_at, count(c.corpus) as corpora, coalesce(sum(c.live_documents), 0)::bigint as documents, coalesce(sum(c.live_text_bytes), 0)::bigint as text_bytes, coalesce(sum(c.live_chunks), 0)::bigint as chunks, t.own_quotas, t.max_documents, t.max_text_bytes
from pgrcp.tenants t left join pgrcp.corpora c on c.tenant_id = t.tenant_id
group by t.tenant_id order by t.tenant_id`,
    (row) => ({
      tenant: row.tenant_id as string,
      createdAt: (row.created_at as Date).toISOString(),
      corpora: count(row.corpora),
      documents: count(row.documents),
      textBytes: count(row.text_bytes),
      chunks: count(row.chunks),
      ownQuotas: row.own_quotas
        ? { documents: row.max_documents as number | null, textBytes: row.max_text_bytes as number | null }
        : null,
    }),
  );
}

/** @param quotas null for those of the configuration */
export function updateQuotas(tenantId: TenantId, quotas: Quotas | null): Statement {
  return compile(
    sql`update pgrcp.tenants set own_quotas = ${quotas !== null}, max_documents = ${quotas?.documents ?? null}::bigint, max_text_bytes = ${quotas?.textBytes ?? null}::bigint where tenant_id = ${tenantId}`,
    noRows,
  );
}

export interface CorpusRow {
  readonly tenant: string;
  readonly corpus: string;
  readonly language: string;
  readonly model: string;
  readonly dimension: number;
  readonly screening: ScreeningPolicy;
  readonly placement: string;
  readonly version: number;
  readonly documents: number;
  readonly chunks: number;
  readonly createdAt: string;
}

/** A row when the corpus was never written to; none when it was, or is not there. */
export function updateLanguage(tenantId: TenantId, corpus: string, language: string): Statement<true> {
  return compile(
    sql`update pgrcp.corpora set language = ${language} where tenant_id = ${tenantId} and corpus = ${corpus} and version = 0 returning true as changed`,
    () => true,
  );
}

/** @param tenantId undefined for all tenants */
export function selectCorpora(tenantId: string | undefined, corpus?: string): Statement<CorpusRow> {
  const wanted: Sql[] = [sql`true`];
  if (tenantId !== undefined) wanted.push(sql`tenant_id = ${tenantId}`);
  if (corpus !== undefined) wanted.push(sql`corpus = ${corpus}`);
  return compile(
    sql`select tenant_id, corpus, language, model_identity, dimension, screening, placement, version, live_documents, live_chunks, created_at
from pgrcp.corpora where ${joinSql(wanted, sql` and `)} order by tenant_id, corpus`,
    (row) => ({
      tenant: row.tenant_id as string,
      corpus: row.corpus as string,
      language: row.language as string,
      model: row.model_identity as string,
      dimension: count(row.dimension),
      screening: row.screening as ScreeningPolicy,
      placement: row.placement as string,
      version: count(row.version),
      documents: count(row.live_documents),
      chunks: count(row.live_chunks),
      createdAt: (row.created_at as Date).toISOString(),
    }),
  );
}

export interface OtherSpace {
  readonly tenant: string;
  readonly corpus: string;
  readonly space: EmbeddingSpace;
  /** How many corpora there are of any space but the one that was asked for. */
  readonly total: number;
}

/** The first corpus whose vectors are of another space than this one; none when all are of it. */
export function selectOtherSpace({ identity, dimension }: EmbeddingSpace): Statement<OtherSpace> {
  return compile(
    sql`select tenant_id, corpus, model_identity, dimension, count(*) over () as total
from pgrcp.corpora where model_identity <> ${identity} or dimension <> ${dimension}::int order by tenant_id, corpus limit 1`,
    (row) => ({
      tenant: row.tenant_id as string,
      corpus: row.corpus as string,
      space: { identity: row.model_identity as string, dimension: count(row.dimension) },
      total: count(row.total),
    }),
  );
}

/** The typed column of a filter field; none when the database has no such field. */
export function selectFilterColumn(field: string): Statement<{ readonly column: string; readonly ready: boolean }> {
  return compile(sql`select "column", ready from pgrcp_admin.filter_fields where name = ${field}`, (row) => ({
    column: row.column as string,
    ready: row.ready as boolean,
  }));
}

export interface DocumentFilter {
  readonly source?: string | undefined;
  readonly quarantined?: boolean | undefined;
  readonly suspected?: boolean | undefined;
  /** Documents whose meta has a value that the field's column could not take. */
  readonly unfit?: { readonly field: string; readonly column: string } | undefined;
}

export interface DocumentRow {
  readonly id: string;
  readonly title: string | null;
  readonly source: string;
  readonly trust: string;
  readonly injectionSuspected: boolean;
  readonly quarantined: boolean;
  readonly chunks: number;
  readonly writtenAt: string;
}

const documentRow = (row: Readonly<Record<string, unknown>>): DocumentRow => ({
  id: row.doc_id as string,
  title: row.title as string | null,
  source: row.source as string,
  trust: row.trust as string,
  injectionSuspected: row.injection_suspected as boolean,
  quarantined: row.quarantined as boolean,
  chunks: count(row.chunk_count),
  writtenAt: (row.written_at as Date).toISOString(),
});

const liveIn = (tenantId: string, corpus: string): Sql =>
  sql`d.tenant_id = ${tenantId} and d.corpus = ${corpus} and d.removed_version is null`;

/** Live documents in the order of their ids. */
export function selectDocuments(tenantId: string, corpus: string, filter: DocumentFilter): Statement<DocumentRow> {
  const wanted: Sql[] = [liveIn(tenantId, corpus)];
  if (filter.source !== undefined) wanted.push(sql`d.source = ${filter.source}`);
  if (filter.quarantined === true) wanted.push(sql`d.quarantined`);
  if (filter.suspected === true) wanted.push(sql`d.injection_suspected`);
  if (filter.unfit !== undefined) wanted.push(isUnfit(filter.unfit));
  return compile(
    sql`select d.doc_id, d.title, d.source, d.trust, d.injection_suspected, d.quarantined, d.chunk_count, d.written_at
from pgrcp.documents d where ${joinSql(wanted, sql` and `)} order by d.doc_id`,
    documentRow,
  );
}

/** The value is there and the column is null. A quarantined document has no chunk and so no column to look at. */
function isUnfit({ field, column }: { readonly field: string; readonly column: string }): Sql {
  return sql`json_typeof(d.meta -> ${field}::text) <> 'null' and exists (select from pgrcp.chunks c where c.tenant_id = d.tenant_id and c.corpus = d.corpus and c.doc_id = d.doc_id and c.added_version = d.added_version and c.removed_version is null and c.${identifier(column)} is null)`;
}

export interface DocumentDetail extends DocumentRow {
  readonly uri: string | null;
  readonly language: string | null;
  readonly issuer: string;
  readonly subject: string;
  readonly tokenId: string | null;
  readonly version: number;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** By the whole key, also where nobody analysed the tables yet: see `ranked-chunks.ts`. */
const textOf = sql`cross join lateral (select * from pgrcp.document_texts where tenant_id = d.tenant_id and corpus = d.corpus and doc_id = d.doc_id and added_version = d.added_version offset 0) t`;

/** One live document, whole. */
export function selectDocument(tenantId: string, corpus: string, docId: string): Statement<DocumentDetail> {
  return compile(
    sql`select d.doc_id, d.title, d.source, d.trust, d.injection_suspected, d.quarantined, d.chunk_count, d.written_at, d.uri, d.language, d.issuer, d.subject, d.token_id, d.added_version, d.meta, t.body
from pgrcp.documents d ${textOf} where ${liveIn(tenantId, corpus)} and d.doc_id = ${docId}`,
    (row) => ({
      ...documentRow(row),
      uri: row.uri as string | null,
      language: row.language as string | null,
      issuer: row.issuer as string,
      subject: row.subject as string,
      tokenId: row.token_id as string | null,
      version: count(row.added_version),
      meta: row.meta as DocumentDetail["meta"],
      text: row.body as string,
    }),
  );
}

export interface FeedbackRow {
  readonly corpus: string;
  readonly hitId: string;
  readonly signals: number;
  readonly callers: number;
  /** From here on callers, not signals. */
  readonly poisonSuspected: number;
  readonly injectionSuspected: number;
  readonly used: number;
  readonly cited: number;
  readonly helpful: number;
  readonly unhelpful: number;
  /** The mean over callers of each one's mean; null when none gave any. */
  readonly reward: number | null;
  readonly lastAt: string;
}

/** A row for each hit that callers spoke of, the most suspected first. Whoever speaks often has one vote all the same. */
export function selectFeedback(tenantId: string, limit: number): Statement<FeedbackRow> {
  return compile(
    sql`with votes as (
  select corpus, hit_id, count(*) as signals, bool_or(poison_suspected) as poison_suspected, bool_or(injection_suspected) as injection_suspected,
    bool_or(used) as used, bool_or(cited) as cited, bool_or(helpful) as helpful, bool_or(not helpful) as unhelpful, avg(reward) as reward, max(received_at) as last_at
  from pgrcp_state.feedback where tenant_id = ${tenantId} and expires_at > now() group by corpus, hit_id, issuer, subject
)
select corpus, hit_id, sum(signals)::bigint as signals, count(*) as callers,
  count(*) filter (where poison_suspected) as poison_suspected, count(*) filter (where injection_suspected) as injection_suspected,
  count(*) filter (where used) as used, count(*) filter (where cited) as cited,
  count(*) filter (where helpful) as helpful, count(*) filter (where unhelpful) as unhelpful, avg(reward) as reward, max(last_at) as last_at
from votes group by corpus, hit_id
order by count(*) filter (where poison_suspected or injection_suspected) desc, count(*) desc, corpus, hit_id limit ${limit}::int`,
    (row) => ({
      corpus: row.corpus as string,
      hitId: row.hit_id as string,
      signals: count(row.signals),
      callers: count(row.callers),
      poisonSuspected: count(row.poison_suspected),
      injectionSuspected: count(row.injection_suspected),
      used: count(row.used),
      cited: count(row.cited),
      helpful: count(row.helpful),
      unhelpful: count(row.unhelpful),
      reward: row.reward as number | null,
      lastAt: (row.last_at as Date).toISOString(),
    }),
  );
}

/** The shape that `import` reads. */
export interface ExportedDocument {
  readonly id: string;
  readonly title?: string;
  readonly text: string;
  readonly meta: Readonly<Record<string, unknown>>;
}

/** Every live document with its text, in the order of their ids. */
export function exportDocuments(tenantId: string, corpus: string): Statement<ExportedDocument> {
  return compile(
    sql`select d.doc_id, d.title, d.meta, t.body from pgrcp.documents d ${textOf} where ${liveIn(tenantId, corpus)} order by d.doc_id`,
    (row) => ({
      id: row.doc_id as string,
      ...(row.title !== null && { title: row.title as string }),
      text: row.body as string,
      meta: row.meta as ExportedDocument["meta"],
    }),
  );
}
