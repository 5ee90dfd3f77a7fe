select doc_id from pgrcp.documents where tenant_id = $1 and source = $2 limit 1
-- $1 = "acme"
-- $2 = "feed"
