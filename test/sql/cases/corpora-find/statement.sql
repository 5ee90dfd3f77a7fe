select tenant_id, corpus, language, model_identity, dimension, screening, placement, moving_from, case when graph_chunks is not null then live_chunks end as graph_chunks, version = 0 as unwritten from pgrcp.corpora where tenant_id = $1 and corpus = $2
-- $1 = "acme"
-- $2 = "papers"
