select v.version, v.token, v.committed_at, v.live_chunks, v.live_length, v.next_chunk from pgrcp.corpus_versions v where v.tenant_id = $1 and v.corpus = $2 and v.token = $3
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "v7-token"
