select term, block, encode(packed, 'base64') as packed, encode(wide, 'base64') as wide from pgrcp.postings
where tenant_id = $1 and corpus = $2 and term = any($3::text[])
-- $1 = "acme"
-- $2 = "default"
-- $3 = ["cell","blood"]
