with documents as (
  update pgrcp.documents set removed_version = $1::bigint where tenant_id = $2 and corpus = $3 and source = $4 and removed_version is null
  returning doc_id, added_version, text_bytes
), kept as (
  insert into pgrcp.revoked_documents (tenant_id, corpus, doc_id, added_version, source, revoked_version)
  select $5, $6, doc_id, added_version, $7, $8::bigint from documents
), chunks as (
  update pgrcp.chunks set removed_version = $9::bigint
  where tenant_id = $10 and corpus = $11 and removed_version is null and (doc_id in (select doc_id from documents)) is true
  returning terms
)
select (select count(*) from documents) as documents, (select coalesce(sum(text_bytes), 0)::bigint from documents) as text_bytes, count(*) as chunks, coalesce(sum(terms), 0)::bigint as length from chunks
-- $1 = 7
-- $2 = "acme"
-- $3 = "papers"
-- $4 = "feed"
-- $5 = "acme"
-- $6 = "papers"
-- $7 = "feed"
-- $8 = 7
-- $9 = 7
-- $10 = "acme"
-- $11 = "papers"
