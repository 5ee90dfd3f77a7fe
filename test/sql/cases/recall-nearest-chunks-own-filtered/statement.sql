select chunk_no, doc_id, ordinal, fingerprint, (embedding <=> $1::halfvec) + 0 as distance from pgrcp.chunks where tenant_id = $2 and corpus = $3 and placement = 'p_1' and removed_version is null and "f_year" >= $4::bigint and not (($5::text = any ("f_tags")) is true) order by distance, doc_id, ordinal limit $6
-- $1 = \x000200003800b400
-- $2 = "acme"
-- $3 = "papers"
-- $4 = 2000
-- $5 = "red"
-- $6 = 10
