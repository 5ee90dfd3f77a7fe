delete from pgrcp_state.feedback where tenant_id = $1 and received_at <= now() - make_interval(days => $2::int)
-- $1 = "acme"
-- $2 = 30
