insert into pgrcp.postings as kept (tenant_id, corpus, term, block, n, packed, wide)
select $1, $2, new.term, new.block, new.n, new.packed, new.wide
from (select r.term, r.block, r.n, substr($3::bytea, r.packed_at, r.n * 4) as packed, substr($4::bytea, r.wide_at, r.wide_size) as wide
from unnest($5::text[], $6::int[], $7::int[], $8::int[], $9::int[], $10::int[]) as r(term, block, n, packed_at, wide_at, wide_size)) as new
on conflict (tenant_id, corpus, term, block) do update
set n = kept.n + excluded.n, packed = kept.packed || excluded.packed, wide = kept.wide || excluded.wide
where kept.tenant_id = $11
-- $1 = "acme"
-- $2 = "default"
-- $3 = \x000ff0c8
-- $4 = \x00000000012c000000c8
-- $5 = ["cell"]
-- $6 = [2]
-- $7 = [1]
-- $8 = [1]
-- $9 = [1]
-- $10 = [10]
-- $11 = "acme"
