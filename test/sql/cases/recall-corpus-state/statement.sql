select v.*, c.placement, c.moving_from from pgrcp.corpora c cross join (select v.version, v.token, date_part('epoch', v.committed_at) * 1000 as committed_at, v.live_chunks, v.live_length, v.next_chunk from pgrcp.corpus_versions v where v.tenant_id = $1 and v.corpus = $2 order by v.version desc limit 1) v where c.tenant_id = $3 and c.corpus = $4
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "acme"
-- $4 = "papers"
-- planned once
