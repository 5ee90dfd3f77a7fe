select chunk_no, embedding::halfvec(2) <=> $1::halfvec(2) as distance from pgrcp.chunks where tenant_id = $2 and corpus = $3 and placement = 'p_1' and removed_version is null order by embedding::halfvec(2) <=> (select (l2_normalize($4::halfvec(2)) - l2_normalize(avg(embedding::halfvec(2))::halfvec(2)))::halfvec(2) from pgrcp.chunks where tenant_id = $5 and corpus = $6 and placement = 'p_1' and chunk_no = any((select $7::int[])::int[])) limit $8
-- $1 = \x000200003800b400
-- $2 = "acme"
-- $3 = "papers"
-- $4 = \x000200003800b400
-- $5 = "acme"
-- $6 = "papers"
-- $7 = [7,4]
-- $8 = 10
-- planned once
