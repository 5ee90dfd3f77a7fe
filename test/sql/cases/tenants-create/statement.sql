insert into pgrcp.tenants (tenant_id) values ($1) on conflict (tenant_id) do nothing returning tenant_id
-- $1 = "acme"
