select max_documents, max_text_bytes from pgrcp.tenants where tenant_id = $1 and own_quotas
-- $1 = "acme"
