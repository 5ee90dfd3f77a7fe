select chunk_no, doc_id, ordinal, fingerprint, 0::float8 as similarity from pgrcp.chunks where tenant_id = $1 and corpus = $2 and placement = $3 and chunk_no = any((select $4::int[])::int[])
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "shared"
-- $4 = [7,4]
