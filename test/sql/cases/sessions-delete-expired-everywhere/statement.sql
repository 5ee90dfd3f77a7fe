delete from pgrcp_state.sessions where expires_at <= now()
