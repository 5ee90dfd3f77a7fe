select count(*) as live from pgrcp.documents where tenant_id = $1 and corpus = $2 and doc_id = any($3::text[]) and removed_version is null
-- $1 = "acme"
-- $2 = "papers"
-- $3 = ["a","it's"]
