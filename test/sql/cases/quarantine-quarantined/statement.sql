select d.doc_id, d.added_version, d.title, d.trust, d.meta, t.body from pgrcp.documents d join pgrcp.document_texts t using (tenant_id, corpus, doc_id, added_version)
where tenant_id = $1 and corpus = $2 and doc_id = any($3::text[]) and d.removed_version is null and d.quarantined order by doc_id
-- $1 = "acme"
-- $2 = "papers"
-- $3 = ["a","b"]
