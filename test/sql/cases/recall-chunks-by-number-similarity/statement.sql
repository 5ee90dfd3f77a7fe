select chunk_no, doc_id, ordinal, fingerprint, 1 - (embedding <=> $1::halfvec) as similarity from pgrcp.chunks where tenant_id = $2 and corpus = $3 and placement = $4 and chunk_no = any((select $5::int[])::int[])
-- $1 = "[0.5,-0.25]"
-- $2 = "acme"
-- $3 = "papers"
-- $4 = "shared"
-- $5 = [7,4]
