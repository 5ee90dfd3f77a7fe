update pgrcp.postings p set n = new.n, packed = new.packed, wide = new.wide
from (select r.term, r.block, r.n, substr($1::bytea, r.packed_at, r.n * 4) as packed, substr($2::bytea, r.wide_at, r.wide_size) as wide
from unnest($3::text[], $4::int[], $5::int[], $6::int[], $7::int[], $8::int[]) as r(term, block, n, packed_at, wide_at, wide_size)) as new
where p.tenant_id = $9 and p.corpus = $10 and p.term = new.term and p.block = new.block
-- $1 = \x00010203
-- $2 = \x
-- $3 = ["it's"]
-- $4 = [1]
-- $5 = [1]
-- $6 = [1]
-- $7 = [1]
-- $8 = [0]
-- $9 = "acme"
-- $10 = "papers"
