update pgrcp.corpus_versions set token = null where tenant_id = $1 and corpus = $2 and token is not null and version <@ (
  select range_agg(int8range(added_version, removed_version)) from pgrcp.documents where tenant_id = $3 and corpus = $4 and source = $5 and not quarantined)
returning version
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "acme"
-- $4 = "papers"
-- $5 = "feed"
