select term, block, encode(packed, 'base64') as packed, encode(wide, 'base64') as wide from pgrcp.postings where tenant_id = $1 and corpus = $2 and block = any($3::int[]) and (term, block) > ($4, $5::int) order by term, block limit $6::int
-- $1 = "acme"
-- $2 = "papers"
-- $3 = [0,3]
-- $4 = "it's"
-- $5 = 1
-- $6 = 500
