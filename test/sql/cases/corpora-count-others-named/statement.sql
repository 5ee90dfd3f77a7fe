select count(*) as corpora from pgrcp.corpora where tenant_id = $1 and corpus = any($2::text[]) and corpus <> $3
-- $1 = "acme"
-- $2 = ["papers"]
-- $3 = "default"
