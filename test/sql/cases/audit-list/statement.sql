select recorded_at as at, action, issuer, subject, client, token_id, method, corpus, version, count, detail
from pgrcp_state.audit where tenant_id = $1 and recorded_at >= $2::timestamptz
union all
select committed_at, action, issuer, subject, null, token_id, null, corpus, version, documents, null
from pgrcp.corpus_versions where tenant_id = $3 and committed_at >= $4::timestamptz
order by at, version
-- $1 = "acme"
-- $2 = "2026-01-31T00:00:00.000Z"
-- $3 = "acme"
-- $4 = "2026-01-31T00:00:00.000Z"
