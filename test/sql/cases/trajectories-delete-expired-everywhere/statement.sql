delete from pgrcp_state.trajectories where expires_at <= now()
