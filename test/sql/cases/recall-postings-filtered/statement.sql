with closed as materialized (select chunk_no >> 12 as block, encode(string_agg(int2send((chunk_no & 4095)::int2), ''::bytea), 'base64') as offsets from pgrcp.chunks where tenant_id = $1 and corpus = $2 and placement = 'shared' and removed_version is not null group by 1), allowed as materialized (select chunk_no >> 12 as block, encode(string_agg(int2send((chunk_no & 4095)::int2), ''::bytea), 'base64') as offsets from pgrcp.chunks where tenant_id = $3 and corpus = $4 and placement = 'shared' and removed_version is null and "f_year" >= $5::bigint and not (($6::text = any ("f_tags")) is true) group by 1)
select 'postings' as kind, term, block, n, case when block in (select block from allowed) or block in (select block from closed) then encode(packed, 'base64') end as packed, encode(wide, 'base64') as wide from unnest($7::text[]) as asked
cross join lateral (select term, block, n, packed, wide from pgrcp.postings where tenant_id = $8 and corpus = $9 and term = asked offset 0) found
union all select 'closed', null, block, null, offsets, null from closed union all select 'allowed', null, block, null, offsets, null from allowed
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "acme"
-- $4 = "papers"
-- $5 = 2000
-- $6 = "red"
-- $7 = ["cell"]
-- $8 = "acme"
-- $9 = "papers"
-- planned once
