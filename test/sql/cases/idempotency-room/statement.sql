select count(*) >= $1::bigint as is_full, coalesce(ceil(extract(epoch from min(expires_at) - now()) * 1000), 0)::bigint as wait_ms from pgrcp.idempotency_keys where tenant_id = $2 and issuer = $3 and subject = $4 and client = $5 and credential = $6
-- $1 = 100000
-- $2 = "acme"
-- $3 = "https://issuer.test"
-- $4 = "alice"
-- $5 = "agent"
-- $6 = "add"
