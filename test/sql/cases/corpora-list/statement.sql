select corpus, language from pgrcp.corpora where tenant_id = $1 order by corpus limit $2::int
-- $1 = "acme"
-- $2 = 101
