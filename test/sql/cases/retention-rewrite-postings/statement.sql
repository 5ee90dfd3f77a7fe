update pgrcp.postings p set n = new.n, packed = decode(new.packed, 'base64'), wide = decode(new.wide, 'base64')
from unnest($1::text[], $2::int[], $3::int[], $4::text[], $5::text[]) as new(term, block, n, packed, wide)
where p.tenant_id = $6 and p.corpus = $7 and p.term = new.term and p.block = new.block
-- $1 = ["it's"]
-- $2 = [1]
-- $3 = [1]
-- $4 = ["AAECAw=="]
-- $5 = [""]
-- $6 = "acme"
-- $7 = "papers"
