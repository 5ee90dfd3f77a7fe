insert into pgrcp_state.ranked_lists (tenant_id, list_id, owner_hash, index_version, candidates, entries, expires_at)
values ($1, $2::bytea, $3::bytea, $4, $5::int, $6::bytea, now() + make_interval(secs => $7::float8))
-- $1 = "acme"
-- $2 = \x0001feff
-- $3 = \x0102
-- $4 = "v7-token"
-- $5 = 12
-- $6 = \x050607
-- $7 = 300
