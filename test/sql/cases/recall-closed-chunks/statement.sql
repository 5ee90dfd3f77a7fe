select coalesce(array_agg(chunk_no), '{}') as chunk_nos from pgrcp.chunks where tenant_id = $1 and corpus = $2 and placement = $3 and removed_version is not null
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "shared"
