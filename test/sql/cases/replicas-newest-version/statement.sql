select c.version from pgrcp.corpora c where c.tenant_id = $1 and c.corpus = $2
-- $1 = "acme"
-- $2 = "papers"
-- planned once
