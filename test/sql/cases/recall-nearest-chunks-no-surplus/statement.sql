select chunk_no, doc_id, ordinal, fingerprint, (embedding <=> $1::halfvec) + 0 as distance from pgrcp.chunks where tenant_id = $2 and corpus = $3 and placement = $4 and removed_version is null and (doc_id = any($5::text[]) or not exists (select from unnest($6::bit(128)[]) near where fingerprint <~> near <= 32)) order by distance, doc_id, ordinal limit $7
-- $1 = "[0.5,-0.25]"
-- $2 = "acme"
-- $3 = "papers"
-- $4 = "shared"
-- $5 = ["a","it's"]
-- $6 = ["11111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111","01010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101"]
-- $7 = 10
