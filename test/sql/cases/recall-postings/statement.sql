with closed as materialized (select chunk_no >> 12 as block, encode(string_agg(int2send((chunk_no & 4095)::int2), ''::bytea), 'base64') as offsets from pgrcp.chunks where tenant_id = $1 and corpus = $2 and placement = 'shared' and removed_version is not null group by 1)
select 'postings' as kind, term, block, n, encode(packed, 'base64') as packed, encode(wide, 'base64') as wide from unnest($3::text[]) as asked
cross join lateral (select term, block, n, packed, wide from pgrcp.postings where tenant_id = $4 and corpus = $5 and term = asked offset 0) found
union all select 'closed', null, block, null, offsets, null from closed
-- $1 = "acme"
-- $2 = "papers"
-- $3 = ["cell","it's"]
-- $4 = "acme"
-- $5 = "papers"
-- planned once
