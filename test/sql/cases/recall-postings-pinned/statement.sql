with closed as materialized (select chunk_no >> 12 as block, encode(string_agg(int2send((chunk_no & 4095)::int2), ''::bytea), 'base64') as offsets from pgrcp.chunks where tenant_id = $1 and corpus = $2 and placement = $3 and removed_version <= (select v.version from pgrcp.corpus_versions v where v.tenant_id = $4 and v.corpus = $5 and v.token = $6) group by 1)
select 'postings' as kind, term, block, n, encode(packed, 'base64') as packed, encode(wide, 'base64') as wide from pgrcp.postings
where tenant_id = $7 and corpus = $8 and term = any($9::text[]) and block <= (select v.next_chunk >> 12 from pgrcp.corpus_versions v where v.tenant_id = $10 and v.corpus = $11 and v.token = $12)
union all select 'closed', null, block, null, offsets, null from closed
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "shared"
-- $4 = "acme"
-- $5 = "papers"
-- $6 = "v7-token"
-- $7 = "acme"
-- $8 = "papers"
-- $9 = ["cell"]
-- $10 = "acme"
-- $11 = "papers"
-- $12 = "v7-token"
