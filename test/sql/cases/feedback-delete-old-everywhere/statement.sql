delete from pgrcp_state.feedback where received_at <= now() - make_interval(days => $1::int)
-- $1 = 30
