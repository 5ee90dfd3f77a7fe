select tenant_id, corpus, language, model_identity, dimension, screening, placement from pgrcp.corpora where tenant_id = $1 and corpus = $2
-- $1 = "acme"
-- $2 = "papers"
