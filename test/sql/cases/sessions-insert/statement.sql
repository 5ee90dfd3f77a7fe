insert into pgrcp_state.sessions (tenant_id, session_hash, issuer, subject, client, capabilities, expires_at)
select $1, $2::bytea, $3, $4, $5, $6, now() + make_interval(secs => $7::float8)
where (select count(*) from pgrcp_state.sessions where tenant_id = $8 and issuer = $9 and subject = $10 and client = $11 and expires_at > now()) < $12::int
returning true as created
-- $1 = "acme"
-- $2 = \x0001feff
-- $3 = "https://issuer.test"
-- $4 = "alice"
-- $5 = "agent"
-- $6 = "{\"retrieve\":{}}"
-- $7 = 3600
-- $8 = "acme"
-- $9 = "https://issuer.test"
-- $10 = "alice"
-- $11 = "agent"
-- $12 = 100
