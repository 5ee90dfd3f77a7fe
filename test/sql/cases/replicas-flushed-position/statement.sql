select pg_current_wal_flush_lsn()::text as position, (select system_identifier from pg_control_system()) || '/' || (select oid from pg_database where datname = current_database()) as database
