select index_version, candidates, entries from pgrcp_state.ranked_lists where tenant_id = $1 and owner_hash = $2::bytea and list_id = $3::bytea and expires_at > now()
-- $1 = "acme"
-- $2 = \x0102
-- $3 = \x0001feff
