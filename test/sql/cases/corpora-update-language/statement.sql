update pgrcp.corpora set language = $1 where tenant_id = $2 and corpus = $3 and version = 0 returning true as changed
-- $1 = "german"
-- $2 = "acme"
-- $3 = "papers"
