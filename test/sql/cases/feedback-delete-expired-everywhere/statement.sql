delete from pgrcp_state.feedback where expires_at <= now()
