select c.chunk_no, c.doc_id, c.ordinal, d.chunk_count, 0 as start_offset, char_length(t.body) as end_offset, null::text as body, null::text as context, null::text as vector, d.title, d.uri, d.source, d.trust, d.injection_suspected, d.meta from pgrcp.chunks c join pgrcp.documents d on d.tenant_id = $1 and d.corpus = $2 and d.doc_id = c.doc_id and d.added_version = c.added_version join pgrcp.document_texts t on t.tenant_id = $3 and t.corpus = $4 and t.doc_id = c.doc_id and t.added_version = c.added_version where c.tenant_id = $5 and c.corpus = $6 and c.placement = 'shared' and c.chunk_no = any($7::int[])
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "acme"
-- $4 = "papers"
-- $5 = "acme"
-- $6 = "papers"
-- $7 = [7,4]
-- planned once
