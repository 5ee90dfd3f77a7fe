select version, next_chunk, live_documents, live_text_bytes, live_chunks, live_length, language, model_identity, dimension, screening, placement, moving_from from pgrcp.corpora where tenant_id = $1 and corpus = $2 for update
-- $1 = "acme"
-- $2 = "papers"
