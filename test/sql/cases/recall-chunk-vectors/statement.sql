select c.chunk_no, c.embedding::text as vector from pgrcp.chunks c where c.tenant_id = $1 and c.corpus = $2 and c.placement = 'shared' and c.chunk_no = any($3::int[])
-- $1 = "acme"
-- $2 = "papers"
-- $3 = [7,4]
-- planned once
