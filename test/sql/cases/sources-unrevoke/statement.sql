delete from pgrcp.revoked_sources where tenant_id = $1 and source = $2
-- $1 = "acme"
-- $2 = "feed"
