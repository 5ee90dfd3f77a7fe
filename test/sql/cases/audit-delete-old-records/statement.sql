delete from pgrcp_state.audit where recorded_at <= now() - make_interval(days => $1::int)
-- $1 = 365
