delete from pgrcp.revoked_documents where tenant_id = $1 and corpus = $2 and doc_id = any($3::text[])
-- $1 = "acme"
-- $2 = "papers"
-- $3 = ["a","b"]
