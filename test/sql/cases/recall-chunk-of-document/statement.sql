select c.chunk_no from pgrcp.chunks c where c.tenant_id = $1 and c.corpus = $2 and c.placement = 'p_1' and c.doc_id = $3 and c.ordinal = $4 and c.removed_version is null
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "it's"
-- $4 = 3
-- planned once
