select chunk_no, doc_id, ordinal, fingerprint, (embedding <=> $1::halfvec) + 0 as distance from pgrcp.chunks where tenant_id = $2 and corpus = $3 and placement = any($4::text[]) and removed_version is null order by distance, doc_id, ordinal limit $5
-- $1 = \x000200003800b400
-- $2 = "acme"
-- $3 = "papers"
-- $4 = ["p_1","shared"]
-- $5 = 10
