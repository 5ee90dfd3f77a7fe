delete from pgrcp_state.ranked_lists where tenant_id = $1 and owner_hash = $2::bytea and list_id in (select list_id from pgrcp_state.ranked_lists where tenant_id = $3 and owner_hash = $4::bytea order by expires_at desc, list_id offset $5::int)
-- $1 = "acme"
-- $2 = \x0102
-- $3 = "acme"
-- $4 = \x0102
-- $5 = 999
