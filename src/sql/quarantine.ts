import type { CorpusName, TenantId } from "../catalog/corpus.ts";
import type { TrustLevel } from "../protocol/wire.ts";
import type { CorpusKey } from "./documents.ts";
import { compile, type Sql, type Statement, sql } from "./sql.ts";

/** The statements that quarantine documents and release them again, as the operator. Each names its tenant itself. */

const of = ({ tenantId, corpus }: CorpusKey): Sql => sql`tenant_id = ${tenantId} and corpus = ${corpus}`;

export interface SuspectedDocument {
  readonly corpus: CorpusName;
  readonly docId: string;
  /** The version that added the text that is suspected. */
  readonly addedVersion: number;
  /** Distinct principals. */
  readonly callers: number;
}

/**
 * Live documents that so many principals suspect of poisoning, by corpus and id. Whoever speaks often counts once, and only what was
 * said since the live text came into answers: once released, it was judged. A hit's id is the document's once the last `#n` is off (DESIGN section 1).
 *
 * @param corpus undefined for all of the tenant's
 */
export function selectSuspected(
  tenantId: TenantId,
  corpus: CorpusName | undefined,
  callers: number,
): Statement<SuspectedDocument> {
  const inCorpus = corpus === undefined ? sql`` : sql` and f.corpus = ${corpus}`;
  return compile(
    sql`select d.corpus, d.doc_id, d.added_version, count(distinct (f.issuer, f.subject)) as callers
from pgrcp_state.feedback f join pgrcp.documents d
  on d.tenant_id = f.tenant_id and d.corpus = f.corpus and d.doc_id = regexp_replace(f.hit_id, '#[0-9]+$', '') and d.removed_version is null and not d.quarantined
  left join pgrcp.corpus_versions v on v.tenant_id = d.tenant_id and v.corpus = d.corpus and v.version = d.added_version
where f.tenant_id = ${tenantId}${inCorpus} and f.poison_suspected and f.expires_at > now() and f.received_at > coalesce(v.committed_at, d.written_at)
group by d.corpus, d.doc_id, d.added_version having count(distinct (f.issuer, f.subject)) >= ${callers}::bigint
order by d.corpus, d.doc_id`,
    (row) => ({
      corpus: row.corpus as CorpusName,
      docId: row.doc_id as string,
      addedVersion: row.added_version as number,
      callers: row.callers as number,
    }),
  );
}

/** Of these documents the live ones that are not quarantined, with the version that added each. */
export function selectAnswering(
  key: CorpusKey,
  docIds: readonly string[],
): Statement<Pick<SuspectedDocument, "docId" | "addedVersion">> {
  return compile(
    sql`select doc_id, added_version from pgrcp.documents where ${of(key)} and doc_id = any(${docIds}::text[]) and removed_version is null and not quarantined order by doc_id`,
    (row) => ({ docId: row.doc_id as string, addedVersion: row.added_version as number }),
  );
}

/** A quarantined document, as far as its chunks are made of it. */
export interface QuarantinedDocument {
  readonly docId: string;
  readonly addedVersion: number;
  readonly title: string | null;
  readonly trust: TrustLevel;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** Of these documents the live ones that are quarantined. */
export function selectQuarantined(key: CorpusKey, docIds: readonly string[]): Statement<QuarantinedDocument> {
  return compile(
    sql`select d.doc_id, d.added_version, d.title, d.trust, d.meta, t.body from pgrcp.documents d join pgrcp.document_texts t using (tenant_id, corpus, doc_id, added_version)
where ${of(key)} and doc_id = any(${docIds}::text[]) and d.removed_version is null and d.quarantined order by doc_id`,
    (row) => ({
      docId: row.doc_id as string,
      addedVersion: row.added_version as number,
      title: row.title as string | null,
      trust: row.trust as TrustLevel,
      meta: row.meta as QuarantinedDocument["meta"],
      text: row.body as string,
    }),
  );
}

export interface Rewritten {
  readonly docId: string;
  /** How many chunks it has from now on: none is quarantined. */
  readonly chunks: number;
}

/** Puts documents that this version closed back, the same but for their chunks: quarantined, or not. */
export function rewriteDocuments(
  key: CorpusKey,
  rows: readonly Rewritten[],
  version: number,
  quarantined: boolean,
): Statement<string> {
  return compile(
    sql`with closed as (
  select d.*, r.chunks from pgrcp.documents d join unnest(${rows.map(({ docId }) => docId)}::text[], ${rows.map(({ chunks }) => chunks)}::int[]) as r(doc_id, chunks) using (doc_id)
  where ${of(key)} and d.removed_version = ${version}::bigint
), texts as (
  insert into pgrcp.document_texts (tenant_id, corpus, doc_id, added_version, body)
  select t.tenant_id, t.corpus, t.doc_id, closed.removed_version, t.body from closed join pgrcp.document_texts t using (tenant_id, corpus, doc_id, added_version)
)
insert into pgrcp.documents (tenant_id, corpus, doc_id, added_version, title, uri, language, source, issuer, subject, token_id, trust, injection_suspected, quarantined, meta, chunk_count, text_bytes, written_at)
select tenant_id, corpus, doc_id, removed_version, title, uri, language, source, issuer, subject, token_id, trust, injection_suspected, ${quarantined}, meta, chunks, text_bytes, written_at from closed
returning doc_id`,
    (row) => row.doc_id as string,
  );
}
