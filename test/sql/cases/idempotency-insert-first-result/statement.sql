insert into pgrcp.idempotency_keys (tenant_id, issuer, subject, client, credential, key_hash, request_hash, result, expires_at)
values ($1, $2, $3, $4, $5, $6::bytea, $7::bytea, $8, now() + make_interval(secs => $9::float8))
on conflict (tenant_id, issuer, subject, client, credential, key_hash) do nothing returning true as is_first
-- $1 = "acme"
-- $2 = "https://issuer.test"
-- $3 = "alice"
-- $4 = "agent"
-- $5 = "add"
-- $6 = \x0102
-- $7 = \x0304
-- $8 = "{\"ids\":[]}"
-- $9 = 86400
