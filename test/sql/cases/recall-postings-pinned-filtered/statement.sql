with closed as materialized (select chunk_no >> 12 as block, encode(string_agg(int2send((chunk_no & 4095)::int2), ''::bytea), 'base64') as offsets from pgrcp.chunks where tenant_id = $1 and corpus = $2 and placement = 'shared' and removed_version <= (select v.version from pgrcp.corpus_versions v where v.tenant_id = $3 and v.corpus = $4 and v.token = $5) group by 1), allowed as materialized (select chunk_no >> 12 as block, encode(string_agg(int2send((chunk_no & 4095)::int2), ''::bytea), 'base64') as offsets from pgrcp.chunks where tenant_id = $6 and corpus = $7 and placement = 'shared' and added_version <= (select v.version from pgrcp.corpus_versions v where v.tenant_id = $8 and v.corpus = $9 and v.token = $10) and (removed_version is null or removed_version > (select v.version from pgrcp.corpus_versions v where v.tenant_id = $11 and v.corpus = $12 and v.token = $13)) and "f_year" >= $14::bigint and not (($15::text = any ("f_tags")) is true) group by 1)
select 'postings' as kind, term, block, n, case when block in (select block from allowed) or block in (select block from closed) or block = (select v.next_chunk >> 12 from pgrcp.corpus_versions v where v.tenant_id = $16 and v.corpus = $17 and v.token = $18) then encode(packed, 'base64') end as packed, encode(wide, 'base64') as wide from unnest($19::text[]) as asked
cross join lateral (select term, block, n, packed, wide from pgrcp.postings where tenant_id = $20 and corpus = $21 and term = asked and block <= (select v.next_chunk >> 12 from pgrcp.corpus_versions v where v.tenant_id = $22 and v.corpus = $23 and v.token = $24) offset 0) found
union all select 'closed', null, block, null, offsets, null from closed union all select 'allowed', null, block, null, offsets, null from allowed
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "acme"
-- $4 = "papers"
-- $5 = "v7-token"
-- $6 = "acme"
-- $7 = "papers"
-- $8 = "acme"
-- $9 = "papers"
-- $10 = "v7-token"
-- $11 = "acme"
-- $12 = "papers"
-- $13 = "v7-token"
-- $14 = 2000
-- $15 = "red"
-- $16 = "acme"
-- $17 = "papers"
-- $18 = "v7-token"
-- $19 = ["cell"]
-- $20 = "acme"
-- $21 = "papers"
-- $22 = "acme"
-- $23 = "papers"
-- $24 = "v7-token"
-- planned once
