select d.corpus, d.doc_id, d.added_version, count(distinct (f.issuer, f.subject)) as callers
from pgrcp_state.feedback f join pgrcp.documents d
  on d.tenant_id = f.tenant_id and d.corpus = f.corpus and d.doc_id = regexp_replace(f.hit_id, '#[0-9]+$', '') and d.removed_version is null and not d.quarantined
  left join pgrcp.corpus_versions v on v.tenant_id = d.tenant_id and v.corpus = d.corpus and v.version = d.added_version
where f.tenant_id = $1 and f.poison_suspected and f.expires_at > now() and f.received_at > coalesce(v.committed_at, d.written_at)
group by d.corpus, d.doc_id, d.added_version having count(distinct (f.issuer, f.subject)) >= $2::bigint
order by d.corpus, d.doc_id
-- $1 = "acme"
-- $2 = 3
