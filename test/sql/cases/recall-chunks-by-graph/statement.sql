select chunk_no, doc_id, ordinal, fingerprint, distance from (select chunk_no, doc_id, ordinal, fingerprint, embedding::halfvec(2) <=> $1::halfvec(2) as distance from pgrcp.chunks where tenant_id = $2 and corpus = $3 and placement = 'p_1' and removed_version is null order by distance limit $4) nearest order by distance + 0, doc_id, ordinal
-- $1 = \x000200003800b400
-- $2 = "acme"
-- $3 = "papers"
-- $4 = 10
-- planned once
