select doc_id, added_version from pgrcp.documents where tenant_id = $1 and corpus = $2 and doc_id = any($3::text[]) and removed_version is null and not quarantined order by doc_id
-- $1 = "acme"
-- $2 = "papers"
-- $3 = ["a","b"]
