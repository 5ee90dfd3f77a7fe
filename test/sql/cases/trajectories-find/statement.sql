select chunk_nos, document_nos from pgrcp_state.trajectories where tenant_id = $1 and owner_hash = $2::bytea and session_hash = $3::bytea and expires_at > now()
-- $1 = "acme"
-- $2 = \x0102
-- $3 = \x0304
