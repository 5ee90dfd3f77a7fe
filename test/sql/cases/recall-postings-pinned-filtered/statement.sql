with closed as materialized (select chunk_no >> 12 as block, encode(string_agg(int2send((chunk_no & 4095)::int2), ''::bytea), 'base64') as offsets from pgrcp.chunks where tenant_id = $1 and corpus = $2 and placement = $3 and removed_version <= (select v.version from pgrcp.corpus_versions v where v.tenant_id = $4 and v.corpus = $5 and v.token = $6) group by 1), allowed as materialized (select chunk_no >> 12 as block, encode(string_agg(int2send((chunk_no & 4095)::int2), ''::bytea), 'base64') as offsets from pgrcp.chunks where tenant_id = $7 and corpus = $8 and placement = $9 and added_version <= (select v.version from pgrcp.corpus_versions v where v.tenant_id = $10 and v.corpus = $11 and v.token = $12) and (removed_version is null or removed_version > (select v.version from pgrcp.corpus_versions v where v.tenant_id = $13 and v.corpus = $14 and v.token = $15)) and "f_year" >= $16::bigint and not (($17::text = any ("f_tags")) is true) group by 1)
select 'postings' as kind, term, block, n, case when block in (select block from allowed) or block in (select block from closed) or block = (select v.next_chunk >> 12 from pgrcp.corpus_versions v where v.tenant_id = $18 and v.corpus = $19 and v.token = $20) then encode(packed, 'base64') end as packed, encode(wide, 'base64') as wide from pgrcp.postings
where tenant_id = $21 and corpus = $22 and term = any($23::text[]) and block <= (select v.next_chunk >> 12 from pgrcp.corpus_versions v where v.tenant_id = $24 and v.corpus = $25 and v.token = $26)
union all select 'closed', null, block, null, offsets, null from closed union all select 'allowed', null, block, null, offsets, null from allowed
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "shared"
-- $4 = "acme"
-- $5 = "papers"
-- $6 = "v7-token"
-- $7 = "acme"
-- $8 = "papers"
-- $9 = "shared"
-- $10 = "acme"
-- $11 = "papers"
-- $12 = "v7-token"
-- $13 = "acme"
-- $14 = "papers"
-- $15 = "v7-token"
-- $16 = 2000
-- $17 = "red"
-- $18 = "acme"
-- $19 = "papers"
-- $20 = "v7-token"
-- $21 = "acme"
-- $22 = "papers"
-- $23 = ["cell"]
-- $24 = "acme"
-- $25 = "papers"
-- $26 = "v7-token"
