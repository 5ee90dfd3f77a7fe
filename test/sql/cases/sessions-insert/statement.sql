insert into pgrcp_state.sessions (tenant_id, session_hash, issuer, subject, client, capabilities, log_level, expires_at)
select $1, $2::bytea, $3, $4, $5, $6, $7, now() + make_interval(secs => $8::float8)
where (select count(*) from pgrcp_state.sessions where tenant_id = $9 and issuer = $10 and subject = $11 and client = $12 and expires_at > now()) < $13::int
returning true as created
-- $1 = "acme"
-- $2 = \x0001feff
-- $3 = "https://issuer.test"
-- $4 = "alice"
-- $5 = "agent"
-- $6 = "{\"retrieve\":{}}"
-- $7 = "info"
-- $8 = 3600
-- $9 = "acme"
-- $10 = "https://issuer.test"
-- $11 = "alice"
-- $12 = "agent"
-- $13 = 100
