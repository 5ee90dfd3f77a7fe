update pgrcp.corpora set version = $1, live_documents = $2, live_text_bytes = $3, live_chunks = $4, live_length = $5, next_chunk = $6 where tenant_id = $7 and corpus = $8
-- $1 = 8
-- $2 = 2
-- $3 = 22
-- $4 = 2
-- $5 = 6
-- $6 = 6
-- $7 = "acme"
-- $8 = "papers"
