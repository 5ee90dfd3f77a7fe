select pg_is_in_recovery() as standby, (select system_identifier from pg_control_system()) || '/' || (select oid from pg_database where datname = current_database()) as database, coalesce(pg_last_wal_replay_lsn() >= $1::pg_lsn, false) as replayed
-- $1 = "0/1A2B3C4D"
