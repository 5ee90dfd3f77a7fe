update pgrcp.corpora set version = $1, live_documents = $2, live_text_bytes = $3, live_chunks = $4, live_length = $5 where tenant_id = $6 and corpus = $7
-- $1 = 8
-- $2 = 2
-- $3 = 22
-- $4 = 2
-- $5 = 6
-- $6 = "acme"
-- $7 = "papers"
