delete from pgrcp.idempotency_keys where expires_at <= now()
