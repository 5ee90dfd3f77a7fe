select key from pgrcp_state.cursor_keys where tenant_id = $1
-- $1 = "acme"
