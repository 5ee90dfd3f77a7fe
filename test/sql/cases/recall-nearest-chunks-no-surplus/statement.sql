select chunk_no, doc_id, ordinal, fingerprint, (embedding <=> $1::halfvec) + 0 as distance from pgrcp.chunks where tenant_id = $2 and corpus = $3 and placement = 'shared' and removed_version is null and (doc_id = any($4::text[]) or not exists (select from unnest($5::bit(128)[]) near where fingerprint <~> near <= 32)) order by distance, doc_id, ordinal limit $6
-- $1 = \x000200003800b400
-- $2 = "acme"
-- $3 = "papers"
-- $4 = ["a","it's"]
-- $5 = ["11111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111","01010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101"]
-- $6 = 10
-- planned once
