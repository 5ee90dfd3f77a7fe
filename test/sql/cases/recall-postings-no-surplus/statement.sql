with closed as materialized (select chunk_no >> 12 as block, encode(string_agg(int2send((chunk_no & 4095)::int2), ''::bytea), 'base64') as offsets from pgrcp.chunks where tenant_id = $1 and corpus = $2 and placement = $3 and removed_version is not null group by 1), allowed as materialized (select chunk_no >> 12 as block, encode(string_agg(int2send((chunk_no & 4095)::int2), ''::bytea), 'base64') as offsets from pgrcp.chunks where tenant_id = $4 and corpus = $5 and placement = $6 and removed_version is null and (doc_id = any($7::text[]) or not exists (select from unnest($8::bit(128)[]) near where fingerprint <~> near <= 32)) group by 1)
select 'postings' as kind, term, block, n, case when block in (select block from allowed) or block in (select block from closed) then encode(packed, 'base64') end as packed, encode(wide, 'base64') as wide from pgrcp.postings
where tenant_id = $9 and corpus = $10 and term = any($11::text[])
union all select 'closed', null, block, null, offsets, null from closed union all select 'allowed', null, block, null, offsets, null from allowed
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "shared"
-- $4 = "acme"
-- $5 = "papers"
-- $6 = "shared"
-- $7 = ["a","it's"]
-- $8 = ["11111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111","01010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101"]
-- $9 = "acme"
-- $10 = "papers"
-- $11 = ["cell"]
