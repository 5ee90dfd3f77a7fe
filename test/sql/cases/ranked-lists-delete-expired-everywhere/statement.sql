delete from pgrcp_state.ranked_lists where expires_at <= now()
