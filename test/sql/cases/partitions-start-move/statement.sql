update pgrcp.corpora set placement = $1, moving_from = $2, graph_chunks = null, graph_next_chunk = null where tenant_id = $3 and corpus = $4
-- $1 = "p_1"
-- $2 = "shared"
-- $3 = "acme"
-- $4 = "papers"
