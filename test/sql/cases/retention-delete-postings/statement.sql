delete from pgrcp.postings p using unnest($1::text[], $2::int[]) as old(term, block)
where p.tenant_id = $3 and p.corpus = $4 and p.term = old.term and p.block = old.block
-- $1 = ["it's"]
-- $2 = [1]
-- $3 = "acme"
-- $4 = "papers"
