with written as (
  select d.source, count(distinct d.issuer) as issuers, count(distinct (d.issuer, d.subject)) as subjects, count(*) as documents,
    coalesce(sum(d.chunk_count) filter (where not d.quarantined), 0)::bigint as chunks, min(d.written_at) as first_at, max(d.written_at) as last_at
  from pgrcp.documents d left join pgrcp.revoked_documents r
    on r.tenant_id = d.tenant_id and r.corpus = d.corpus and r.doc_id = d.doc_id and r.added_version = d.added_version
  where d.tenant_id = $1 and d.corpus = $2 and (d.removed_version is null or r.doc_id is not null)
  group by d.source
), revoked as (
  select source, revoked_at from pgrcp.revoked_sources where tenant_id = $3
)
select coalesce(w.source, v.source) collate "C" as source, coalesce(w.issuers, 0) as issuers, coalesce(w.subjects, 0) as subjects, coalesce(w.documents, 0) as documents,
  coalesce(w.chunks, 0) as chunks, w.first_at, w.last_at, v.revoked_at
from written w full join revoked v on v.source = w.source order by 1
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "acme"
