insert into pgrcp.revoked_sources (tenant_id, source) values ($1, $2) on conflict (tenant_id, source) do nothing
-- $1 = "acme"
-- $2 = "feed"
