select coalesce(array_agg(chunk_no order by chunk_no), '{}') as chunk_nos from pgrcp.chunks c where tenant_id = $1 and corpus = $2 and removed_version <= $3 and not exists (select from pgrcp.revoked_documents r where r.tenant_id = c.tenant_id and r.corpus = c.corpus and r.doc_id = c.doc_id and r.added_version = c.added_version)
-- $1 = "acme"
-- $2 = "papers"
-- $3 = 7
