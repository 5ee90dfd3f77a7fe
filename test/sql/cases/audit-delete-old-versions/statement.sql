delete from pgrcp.corpus_versions where token is null and committed_at <= now() - make_interval(days => $1::int)
-- $1 = 365
