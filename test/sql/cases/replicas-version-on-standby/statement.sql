select case when not pg_is_in_recovery() or (pg_last_wal_replay_lsn() >= $1::pg_lsn) is not true then pgrcp.refuse_read($2) else coalesce((select c.version from pgrcp.corpora c where c.tenant_id = $3 and c.corpus = $4 and c.version >= $5::bigint and c.placement = $6 and c.moving_from is not distinct from $7), pgrcp.refuse_read($8)) end as version
-- $1 = "0/1A"
-- $2 = "PR001"
-- $3 = "acme"
-- $4 = "papers"
-- $5 = 7
-- $6 = "shared"
-- $7 = null
-- $8 = "PR002"
-- planned once
