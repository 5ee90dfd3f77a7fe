select count(*) as corpora from pgrcp.corpora where tenant_id = $1 and corpus <> $2
-- $1 = "acme"
-- $2 = "default"
