select corpus from pgrcp.corpora where tenant_id = $1 order by corpus
-- $1 = "acme"
