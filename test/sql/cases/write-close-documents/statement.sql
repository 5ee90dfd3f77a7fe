update pgrcp.documents set removed_version = $1 where tenant_id = $2 and corpus = $3 and doc_id = any($4::text[]) and removed_version is null returning text_bytes
-- $1 = 8
-- $2 = "acme"
-- $3 = "papers"
-- $4 = ["a","it's"]
