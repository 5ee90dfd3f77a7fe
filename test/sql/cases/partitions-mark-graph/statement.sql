update pgrcp.corpora set graph_chunks = $1::bigint, graph_next_chunk = $2::int where tenant_id = $3 and corpus = $4 and moving_from is null
-- $1 = 25000
-- $2 = 31000
-- $3 = "acme"
-- $4 = "papers"
