insert into pgrcp_state.cursor_keys (tenant_id, key) values ($1, $2::bytea) on conflict (tenant_id) do nothing
-- $1 = "acme"
-- $2 = \x0707070707070707070707070707070707070707070707070707070707070707
