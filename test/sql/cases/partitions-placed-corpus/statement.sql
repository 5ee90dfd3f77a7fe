select tenant_id, corpus, placement, moving_from, dimension, live_chunks, next_chunk, case when exists (select from pg_index i where i.indexrelid = to_regclass('pgrcp.chunks_' || placement || '_graph') and i.indisvalid) then graph_chunks end as graph_chunks, graph_next_chunk from pgrcp.corpora where tenant_id = $1 and corpus = $2 and (live_chunks > $3::bigint or placement <> 'shared' or moving_from is not null) order by tenant_id, corpus
-- $1 = "acme"
-- $2 = "papers"
-- $3 = 20000
