delete from pgrcp_state.trajectories where tenant_id = $1 and owner_hash = $2::bytea and session_hash in (select session_hash from pgrcp_state.trajectories where tenant_id = $3 and owner_hash = $4::bytea order by expires_at desc, session_hash offset $5::int)
-- $1 = "acme"
-- $2 = \x0102
-- $3 = "acme"
-- $4 = \x0102
-- $5 = 1000
