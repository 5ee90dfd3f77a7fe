with moved as (delete from pgrcp.postings where ctid = any(array(select ctid from pgrcp.postings where ctid >= $1::tid and ctid < $2::tid for update skip locked)) returning tenant_id, corpus, term, block, n, packed, wide)
insert into pgrcp.postings (tenant_id, corpus, term, block, n, packed, wide) select tenant_id, corpus, term, block, n, packed, wide from moved
-- $1 = "(500,0)"
-- $2 = "(1000,0)"
