select c.chunk_no, c.doc_id, c.ordinal, d.chunk_count, 0 as start_offset, char_length(t.body) as end_offset, case when row_number() over ranked = 1 or sum(char_length(t.body)) over ranked <= $1::bigint then t.body end as body, t.contexts ->> c.ordinal as context, c.embedding::text as vector, d.title, d.uri, d.source, d.trust, d.injection_suspected, d.meta from pgrcp.chunks c join pgrcp.documents d on d.tenant_id = c.tenant_id and d.corpus = c.corpus and d.doc_id = c.doc_id and d.added_version = c.added_version join pgrcp.document_texts t on t.tenant_id = c.tenant_id and t.corpus = c.corpus and t.doc_id = c.doc_id and t.added_version = c.added_version where c.tenant_id = $2 and c.corpus = $3 and c.placement = 'shared' and c.chunk_no = any($4::int[]) window ranked as (order by array_position($5::int[], c.chunk_no))
-- $1 = 5000
-- $2 = "acme"
-- $3 = "papers"
-- $4 = [7,4]
-- $5 = [7,4]
-- planned once
