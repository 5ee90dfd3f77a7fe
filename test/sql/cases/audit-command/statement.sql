insert into pgrcp_state.audit (tenant_id, action, issuer, subject, corpus, version, count, detail)
values ($1, $2, $3, $4, $5, $6::bigint, $7, $8)
-- $1 = "acme"
-- $2 = "withdraw"
-- $3 = "pgrcp"
-- $4 = "operator"
-- $5 = "papers"
-- $6 = 7
-- $7 = 2
-- $8 = null
