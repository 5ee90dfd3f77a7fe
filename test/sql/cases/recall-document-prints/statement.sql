select c.chunk_no, d.fingerprint::text as fingerprint, c.end_offset as characters from pgrcp.chunks c join pgrcp.documents d on d.tenant_id = c.tenant_id and d.corpus = c.corpus and d.doc_id = c.doc_id and d.added_version = c.added_version where c.tenant_id = $1 and c.corpus = $2 and c.placement = $3 and c.chunk_no = any($4::int[])
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "shared"
-- $4 = [7,4]
