import type { CorpusName, TenantId } from "../catalog/corpus.ts";
import type { CorpusKey } from "./documents.ts";
import { compile, type Statement, sql } from "./sql.ts";

/** The statements that quarantine what callers suspect, as the operator. Each names its tenant itself. */

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
 * said since the live text was written. A hit's id is the document's once the last `#n` is off (DESIGN section 1).
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
where f.tenant_id = ${tenantId}${inCorpus} and f.poison_suspected and f.expires_at > now() and f.received_at > d.written_at
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

/** Puts documents that this version closed back as quarantined ones: the same but for their chunks, and so in no answer. */
export function insertQuarantined(key: CorpusKey, docIds: readonly string[], version: number): Statement<string> {
  const closed = sql`tenant_id = ${key.tenantId} and corpus = ${key.corpus} and doc_id = any(${docIds}::text[]) and removed_version = ${version}::bigint`;
  return compile(
    sql`with closed as (select * from pgrcp.documents where ${closed}), texts as (
  insert into pgrcp.document_texts (tenant_id, corpus, doc_id, added_version, body)
  select t.tenant_id, t.corpus, t.doc_id, closed.removed_version, t.body from closed join pgrcp.document_texts t using (tenant_id, corpus, doc_id, added_version)
)
insert into pgrcp.documents (tenant_id, corpus, doc_id, added_version, title, uri, language, source, issuer, subject, token_id, trust, injection_suspected, quarantined, fingerprint, meta, chunk_count, text_bytes, written_at)
select tenant_id, corpus, doc_id, removed_version, title, uri, language, source, issuer, subject, token_id, trust, injection_suspected, true, fingerprint, meta, 0, text_bytes, written_at from closed
returning doc_id`,
    (row) => row.doc_id as string,
  );
}
