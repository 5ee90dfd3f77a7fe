with closed as materialized (select chunk_no >> 12 as block, encode(string_agg(int2send((chunk_no & 4095)::int2), ''::bytea), 'base64') as offsets from pgrcp.chunks where tenant_id = $1 and corpus = $2 and placement = 'shared' and removed_version <= (select v.version from pgrcp.corpus_versions v where v.tenant_id = $3 and v.corpus = $4 and v.token = $5) group by 1)
select 'postings' as kind, term, block, n, encode(packed, 'base64') as packed, encode(wide, 'base64') as wide from pgrcp.postings
where tenant_id = $6 and corpus = $7 and term = any($8::text[]) and block <= (select v.next_chunk >> 12 from pgrcp.corpus_versions v where v.tenant_id = $9 and v.corpus = $10 and v.token = $11)
union all select 'closed', null, block, null, offsets, null from closed
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "acme"
-- $4 = "papers"
-- $5 = "v7-token"
-- $6 = "acme"
-- $7 = "papers"
-- $8 = ["cell"]
-- $9 = "acme"
-- $10 = "papers"
-- $11 = "v7-token"
-- planned once
