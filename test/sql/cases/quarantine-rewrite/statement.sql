with closed as (
  select d.*, r.chunks from pgrcp.documents d join unnest($1::text[], $2::int[]) as r(doc_id, chunks) using (doc_id)
  where tenant_id = $3 and corpus = $4 and d.removed_version = $5::bigint
), texts as (
  insert into pgrcp.document_texts (tenant_id, corpus, doc_id, added_version, body)
  select t.tenant_id, t.corpus, t.doc_id, closed.removed_version, t.body from closed join pgrcp.document_texts t using (tenant_id, corpus, doc_id, added_version)
)
insert into pgrcp.documents (tenant_id, corpus, doc_id, added_version, title, uri, language, source, issuer, subject, token_id, trust, injection_suspected, quarantined, meta, chunk_count, text_bytes, written_at)
select tenant_id, corpus, doc_id, removed_version, title, uri, language, source, issuer, subject, token_id, trust, injection_suspected, $6, meta, chunks, text_bytes, written_at from closed
returning doc_id
-- $1 = ["a","b"]
-- $2 = [2,0]
-- $3 = "acme"
-- $4 = "papers"
-- $5 = 7
-- $6 = false
