select count(*) as corpora from pgrcp.corpora where tenant_id = $1
-- $1 = "acme"
