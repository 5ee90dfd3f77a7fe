with closed as materialized (select chunk_no >> 12 as block, encode(string_agg(int2send((chunk_no & 4095)::int2), ''::bytea), 'base64') as offsets from pgrcp.chunks where tenant_id = $1 and corpus = $2 and placement = 'shared' and removed_version <= (select v.version from pgrcp.corpus_versions v where v.tenant_id = $3 and v.corpus = $4 and v.token = $5) group by 1)
select 'postings' as kind, term, block, n, encode(packed, 'base64') as packed, encode(wide, 'base64') as wide from unnest($6::text[]) as asked
cross join lateral (select term, block, n, packed, wide from pgrcp.postings where tenant_id = $7 and corpus = $8 and term = asked and block <= (select v.next_chunk >> 12 from pgrcp.corpus_versions v where v.tenant_id = $9 and v.corpus = $10 and v.token = $11) offset 0) found
union all select 'closed', null, block, null, offsets, null from closed
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "acme"
-- $4 = "papers"
-- $5 = "v7-token"
-- $6 = ["cell"]
-- $7 = "acme"
-- $8 = "papers"
-- $9 = "acme"
-- $10 = "papers"
-- $11 = "v7-token"
-- planned once
