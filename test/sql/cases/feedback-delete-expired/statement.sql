delete from pgrcp_state.feedback where tenant_id = $1 and expires_at <= now()
-- $1 = "acme"
