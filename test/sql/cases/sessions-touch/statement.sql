with found as (
  select session_hash, capabilities, log_level, expires_at from pgrcp_state.sessions where tenant_id = $1 and issuer = $2 and subject = $3 and client = $4 and session_hash = $5::bytea and expires_at > now()
), touched as (
  update pgrcp_state.sessions s set expires_at = now() + make_interval(secs => $6::float8) from found f
  where s.tenant_id = $7 and s.session_hash = f.session_hash and f.expires_at < now() + make_interval(secs => $8::float8)
)
select capabilities, log_level from found
-- $1 = "acme"
-- $2 = "https://issuer.test"
-- $3 = "alice"
-- $4 = "agent"
-- $5 = \x0001feff
-- $6 = 3600
-- $7 = "acme"
-- $8 = 3540
