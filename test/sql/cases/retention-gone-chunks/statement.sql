select coalesce(array_agg(chunk_no order by chunk_no), '{}') as chunk_nos from pgrcp.chunks where tenant_id = $1 and corpus = $2 and removed_version <= $3
-- $1 = "acme"
-- $2 = "papers"
-- $3 = 7
