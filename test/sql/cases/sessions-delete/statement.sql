delete from pgrcp_state.sessions where tenant_id = $1 and issuer = $2 and subject = $3 and client = $4 and session_hash = $5::bytea returning true as ended
-- $1 = "acme"
-- $2 = "https://issuer.test"
-- $3 = "alice"
-- $4 = "agent"
-- $5 = \x0001feff
