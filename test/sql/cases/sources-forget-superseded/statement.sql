delete from pgrcp.revoked_documents r where tenant_id = $1 and corpus = $2 and exists (select from pgrcp.documents d where d.tenant_id = r.tenant_id and d.corpus = r.corpus and d.doc_id = r.doc_id and d.added_version > r.added_version)
-- $1 = "acme"
-- $2 = "papers"
