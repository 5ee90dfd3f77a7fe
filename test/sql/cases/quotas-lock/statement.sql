select from pgrcp.tenants where tenant_id = $1 for no key update
-- $1 = "acme"
