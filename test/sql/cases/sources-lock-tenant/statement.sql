select from pgrcp.tenants where tenant_id = $1 for update
-- $1 = "acme"
