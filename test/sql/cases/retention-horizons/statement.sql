select tenant_id, corpus, max(version) as version from pgrcp.corpus_versions where committed_at <= now() - make_interval(hours => $1::int) group by tenant_id, corpus order by tenant_id, corpus
-- $1 = 24
