with closed as (select * from pgrcp.documents where tenant_id = $1 and corpus = $2 and doc_id = any($3::text[]) and removed_version = $4::bigint), texts as (
  insert into pgrcp.document_texts (tenant_id, corpus, doc_id, added_version, body)
  select t.tenant_id, t.corpus, t.doc_id, closed.removed_version, t.body from closed join pgrcp.document_texts t using (tenant_id, corpus, doc_id, added_version)
)
insert into pgrcp.documents (tenant_id, corpus, doc_id, added_version, title, uri, language, source, issuer, subject, token_id, trust, injection_suspected, quarantined, fingerprint, meta, chunk_count, text_bytes, written_at)
select tenant_id, corpus, doc_id, removed_version, title, uri, language, source, issuer, subject, token_id, trust, injection_suspected, true, fingerprint, meta, 0, text_bytes, written_at from closed
returning doc_id
-- $1 = "acme"
-- $2 = "papers"
-- $3 = ["a","b"]
-- $4 = 7
