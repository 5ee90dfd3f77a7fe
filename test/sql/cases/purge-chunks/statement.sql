with erased as (
  delete from pgrcp.chunks where tenant_id = $1 and corpus = $2 and doc_id = any($3::text[]) returning chunk_no, terms, removed_version is null as live
)
select coalesce(array_agg(chunk_no), '{}') as chunk_nos, count(*) filter (where live) as live_chunks, coalesce(sum(terms) filter (where live), 0)::bigint as live_length from erased
-- $1 = "acme"
-- $2 = "papers"
-- $3 = ["a","b"]
