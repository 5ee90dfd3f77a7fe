select chunk_no, doc_id, ordinal, fingerprint, 1 - (embedding <=> $1::halfvec) as similarity from pgrcp.chunks where tenant_id = $2 and corpus = $3 and placement = 'shared' and chunk_no = any((select $4::int[])::int[])
-- $1 = \x000200003800b400
-- $2 = "acme"
-- $3 = "papers"
-- $4 = [7,4]
-- planned once
