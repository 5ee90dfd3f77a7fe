with next as materialized (
  select chunk_no from pgrcp.chunks where tenant_id = $1 and corpus = $2 and placement = $3 and chunk_no > $4::int order by chunk_no limit $5::int)
update pgrcp.chunks c set placement = $6 from next where c.tenant_id = $7 and c.corpus = $8 and c.placement = $9 and c.chunk_no = next.chunk_no returning c.chunk_no
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "shared"
-- $4 = 41
-- $5 = 1000
-- $6 = "p_1"
-- $7 = "acme"
-- $8 = "papers"
-- $9 = "shared"
