with kept as (
  delete from pgrcp.revoked_documents where tenant_id = $1 and corpus = $2 and source = $3
  returning tenant_id, corpus, doc_id, added_version, revoked_version
), newest as (
  select r.doc_id, r.added_version, r.revoked_version from kept r where not exists (select from pgrcp.documents d where d.tenant_id = r.tenant_id and d.corpus = r.corpus and d.doc_id = r.doc_id and d.added_version > r.added_version)
), documents as (
  update pgrcp.documents d set removed_version = null from newest n
  where d.tenant_id = $4 and d.corpus = $5 and d.doc_id = n.doc_id and d.added_version = n.added_version
  returning n.revoked_version
), chunks as (
  update pgrcp.chunks c set removed_version = null from newest n
  where c.tenant_id = $6 and c.corpus = $7 and c.removed_version = n.revoked_version and c.doc_id = n.doc_id and c.added_version = n.added_version
  returning c.terms
)
select (select count(*) from documents) as documents, (select min(revoked_version) from documents) as since, count(*) as chunks, coalesce(sum(terms), 0)::bigint as length from chunks
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "feed"
-- $4 = "acme"
-- $5 = "papers"
-- $6 = "acme"
-- $7 = "papers"
