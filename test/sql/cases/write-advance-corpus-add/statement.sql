update pgrcp.corpora set version = $1, live_documents = $2, live_chunks = $3, live_length = $4, next_chunk = $5 where tenant_id = $6 and corpus = $7
-- $1 = 8
-- $2 = 2
-- $3 = 2
-- $4 = 6
-- $5 = 6
-- $6 = "acme"
-- $7 = "papers"
