select c.chunk_no, c.fingerprint from pgrcp.chunks c where c.tenant_id = $1 and c.corpus = $2 and c.placement = $3 and c.chunk_no = any($4::int[])
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "shared"
-- $4 = [7,4]
