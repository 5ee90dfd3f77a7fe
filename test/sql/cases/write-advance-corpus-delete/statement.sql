update pgrcp.corpora set version = $1, live_documents = $2, live_chunks = $3, live_length = $4 where tenant_id = $5 and corpus = $6
-- $1 = 8
-- $2 = 2
-- $3 = 2
-- $4 = 6
-- $5 = "acme"
-- $6 = "papers"
