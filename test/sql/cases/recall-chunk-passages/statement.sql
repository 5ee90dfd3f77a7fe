select c.chunk_no, d.title, t.contexts ->> c.ordinal as context, substr(t.body, c.start_offset + 1, least(c.end_offset - c.start_offset, $1::int)) as body from pgrcp.chunks c join pgrcp.documents d on d.tenant_id = c.tenant_id and d.corpus = c.corpus and d.doc_id = c.doc_id and d.added_version = c.added_version join pgrcp.document_texts t on t.tenant_id = c.tenant_id and t.corpus = c.corpus and t.doc_id = c.doc_id and t.added_version = c.added_version where c.tenant_id = $2 and c.corpus = $3 and c.placement = 'shared' and c.chunk_no = any($4::int[])
-- $1 = 32000
-- $2 = "acme"
-- $3 = "papers"
-- $4 = [7,4]
-- planned once
