select corpus, language from pgrcp.corpora where tenant_id = $1 and corpus = any($2::text[]) order by corpus limit $3::int
-- $1 = "acme"
-- $2 = ["papers"]
-- $3 = 101
