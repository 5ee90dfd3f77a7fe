select chunk_no, doc_id, ordinal, fingerprint, distance from (select chunk_no, doc_id, ordinal, fingerprint, embedding::halfvec(2) <=> $1::halfvec(2) as distance from pgrcp.chunks where tenant_id = $2 and corpus = $3 and placement = 'p_1' and removed_version is null and "f_year" >= $4::bigint and not (($5::text = any ("f_tags")) is true) order by distance limit $6) nearest order by distance + 0, doc_id, ordinal
-- $1 = \x000200003800b400
-- $2 = "acme"
-- $3 = "papers"
-- $4 = 2000
-- $5 = "red"
-- $6 = 10
