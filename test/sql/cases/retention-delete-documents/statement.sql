with gone as (
  delete from pgrcp.documents where tenant_id = $1 and corpus = $2 and (doc_id, added_version) in (
    select doc_id, added_version from pgrcp.documents d where tenant_id = $3 and corpus = $4 and removed_version <= $5 and not exists (select from pgrcp.revoked_documents r where r.tenant_id = d.tenant_id and r.corpus = d.corpus and r.doc_id = d.doc_id and r.added_version = d.added_version) limit $6::int)
  returning doc_id, added_version
), texts as (
  delete from pgrcp.document_texts t using gone where t.tenant_id = $7 and t.corpus = $8 and t.doc_id = gone.doc_id and t.added_version = gone.added_version
)
select doc_id from gone
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "acme"
-- $4 = "papers"
-- $5 = 7
-- $6 = 200
-- $7 = "acme"
-- $8 = "papers"
