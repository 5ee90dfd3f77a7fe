select v.*, c.placement, c.moving_from from pgrcp.corpora c cross join (select v.version, v.token, date_part('epoch', v.committed_at) * 1000 as committed_at, v.live_chunks, v.live_length, v.next_chunk from pgrcp.corpus_versions v where v.tenant_id = $1 and v.corpus = $2 and v.token = $3) v where c.tenant_id = $4 and c.corpus = $5
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "v7-token"
-- $4 = "acme"
-- $5 = "papers"
-- planned once
