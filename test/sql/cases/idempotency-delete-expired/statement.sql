delete from pgrcp.idempotency_keys where tenant_id = $1 and expires_at <= now()
-- $1 = "acme"
