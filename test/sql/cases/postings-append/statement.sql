insert into pgrcp.postings as kept (tenant_id, corpus, term, block, n, packed, wide)
select $1, $2, new.term, new.block, new.n, decode(new.packed, 'base64'), decode(new.wide, 'base64')
from unnest($3::text[], $4::int[], $5::int[], $6::text[], $7::text[]) as new(term, block, n, packed, wide)
on conflict (tenant_id, corpus, term, block) do update
set n = kept.n + excluded.n, packed = kept.packed || excluded.packed, wide = kept.wide || excluded.wide
where kept.tenant_id = $8
-- $1 = "acme"
-- $2 = "default"
-- $3 = ["cell"]
-- $4 = [2]
-- $5 = [1]
-- $6 = ["AA/wyA=="]
-- $7 = ["AAAAAAEsAAAAyA=="]
-- $8 = "acme"
