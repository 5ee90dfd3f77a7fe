select coalesce(array_agg(chunk_no), '{}') as chunk_nos from pgrcp.chunks where tenant_id = $1 and corpus = $2 and placement = $3 and removed_version <= (select v.version from pgrcp.corpus_versions v where v.tenant_id = $4 and v.corpus = $5 and v.token = $6)
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "shared"
-- $4 = "acme"
-- $5 = "papers"
-- $6 = "v7-token"
