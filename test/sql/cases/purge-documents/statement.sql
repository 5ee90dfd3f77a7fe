with erased as (
  delete from pgrcp.documents where tenant_id = $1 and corpus = $2 and doc_id = any($3::text[]) returning doc_id, removed_version is null as live, text_bytes
), texts as (
  delete from pgrcp.document_texts where tenant_id = $4 and corpus = $5 and doc_id = any($6::text[])
)
select doc_id, live, text_bytes from erased
-- $1 = "acme"
-- $2 = "papers"
-- $3 = ["a","b"]
-- $4 = "acme"
-- $5 = "papers"
-- $6 = ["a","b"]
