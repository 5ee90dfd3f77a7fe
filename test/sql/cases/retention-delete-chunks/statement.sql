delete from pgrcp.chunks where tenant_id = $1 and corpus = $2 and chunk_no = any($3::int[])
-- $1 = "acme"
-- $2 = "papers"
-- $3 = [7,4]
