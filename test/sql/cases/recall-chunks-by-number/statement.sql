select chunk_no, doc_id, ordinal, fingerprint, 0::float8 as similarity from pgrcp.chunks where tenant_id = $1 and corpus = $2 and placement = 'shared' and chunk_no = any((select $3::int[])::int[])
-- $1 = "acme"
-- $2 = "papers"
-- $3 = [7,4]
-- planned once
