select pg_advisory_xact_lock($1::bigint)
-- $1 = 482804069235
