select coalesce(ceil(extract(epoch from min(expires_at) - now()) * 1000), 0)::bigint as wait_ms from pgrcp_state.sessions where tenant_id = $1 and issuer = $2 and subject = $3 and client = $4 and expires_at > now()
-- $1 = "acme"
-- $2 = "https://issuer.test"
-- $3 = "alice"
-- $4 = "agent"
