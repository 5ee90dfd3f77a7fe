update pgrcp.corpora set moving_from = null where tenant_id = $1 and corpus = $2
-- $1 = "acme"
-- $2 = "papers"
