select c.chunk_no, c.doc_id, c.ordinal, d.chunk_count, c.start_offset, c.end_offset, null::text as body, null::text as context, null::text as vector, d.title, d.uri, d.source, d.trust, d.injection_suspected, d.meta from pgrcp.chunks c cross join lateral (select * from pgrcp.documents where tenant_id = $1 and corpus = $2 and doc_id = c.doc_id and added_version = c.added_version offset 0) d where c.tenant_id = $3 and c.corpus = $4 and c.placement = 'shared' and c.chunk_no = any($5::int[])
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "acme"
-- $4 = "papers"
-- $5 = [7,4]
-- planned once
