update pgrcp.tenants set own_quotas = $1, max_documents = $2::bigint, max_text_bytes = $3::bigint where tenant_id = $4
-- $1 = true
-- $2 = 5
-- $3 = null
-- $4 = "acme"
