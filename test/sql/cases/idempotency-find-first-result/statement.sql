select request_hash, result from pgrcp.idempotency_keys where tenant_id = $1 and issuer = $2 and subject = $3 and client = $4 and credential = $5 and key_hash = $6::bytea
-- $1 = "acme"
-- $2 = "https://issuer.test"
-- $3 = "alice"
-- $4 = "agent"
-- $5 = "add"
-- $6 = \x0102
