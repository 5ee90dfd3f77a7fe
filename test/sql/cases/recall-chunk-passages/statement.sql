select c.chunk_no, d.title, t.contexts ->> c.ordinal as context, substr(t.body, c.start_offset + 1, least(c.end_offset - c.start_offset, $1::int)) as body from pgrcp.chunks c cross join lateral (select * from pgrcp.documents where tenant_id = $2 and corpus = $3 and doc_id = c.doc_id and added_version = c.added_version offset 0) d cross join lateral (select * from pgrcp.document_texts where tenant_id = $4 and corpus = $5 and doc_id = c.doc_id and added_version = c.added_version offset 0) t where c.tenant_id = $6 and c.corpus = $7 and c.placement = 'shared' and c.chunk_no = any($8::int[])
-- $1 = 32000
-- $2 = "acme"
-- $3 = "papers"
-- $4 = "acme"
-- $5 = "papers"
-- $6 = "acme"
-- $7 = "papers"
-- $8 = [7,4]
-- planned once
