select chunk_no, doc_id, ordinal, 1 - (embedding <=> $1::halfvec) as similarity from pgrcp.chunks where tenant_id = $2 and corpus = $3 and placement = $4 and removed_version is null and (("f_year" >= $5::bigint) is true and not (($6::text = any ("f_tags")) is true)) order by (embedding <=> $7::halfvec) + 0, doc_id, ordinal limit $8
-- $1 = "[0.5,-0.25]"
-- $2 = "acme"
-- $3 = "papers"
-- $4 = "shared"
-- $5 = 2000
-- $6 = "red"
-- $7 = "[0.5,-0.25]"
-- $8 = 10
