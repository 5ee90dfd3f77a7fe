with kept as (
  delete from pgrcp.revoked_documents where tenant_id = $1 and corpus = $2 and source = $3 returning doc_id, added_version, revoked_version
), newest as (
  select doc_id, added_version, revoked_version from kept
  where ((doc_id, added_version) in (select doc_id, max(added_version) from pgrcp.documents where tenant_id = $4 and corpus = $5 group by doc_id)) is true
), documents as (
  update pgrcp.documents set removed_version = null
  where tenant_id = $6 and corpus = $7 and removed_version is not null and ((doc_id, added_version) in (select doc_id, added_version from newest)) is true
  returning text_bytes
), chunks as (
  update pgrcp.chunks set removed_version = null
  where tenant_id = $8 and corpus = $9 and removed_version is not null and ((doc_id, added_version) in (select doc_id, added_version from newest)) is true
  returning terms
)
select (select count(*) from newest) as documents, (select coalesce(sum(text_bytes), 0)::bigint from documents) as text_bytes, (select min(revoked_version) from newest) as since, count(*) as chunks, coalesce(sum(terms), 0)::bigint as length from chunks
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "feed"
-- $4 = "acme"
-- $5 = "papers"
-- $6 = "acme"
-- $7 = "papers"
-- $8 = "acme"
-- $9 = "papers"
