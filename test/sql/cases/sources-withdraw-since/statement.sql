update pgrcp.corpus_versions set token = null where tenant_id = $1 and corpus = $2 and version >= $3::bigint and token is not null returning version
-- $1 = "acme"
-- $2 = "papers"
-- $3 = 7
