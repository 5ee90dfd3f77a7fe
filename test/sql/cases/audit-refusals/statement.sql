insert into pgrcp_state.audit (tenant_id, action, issuer, subject, client, token_id, method, corpus, count, detail)
values ($1, 'refuse', $2, $3, $4, $5, $6, $7, $8, $9)
-- $1 = "acme"
-- $2 = "https://issuer.test"
-- $3 = "alice"
-- $4 = "agent"
-- $5 = "jti-1"
-- $6 = "index/add"
-- $7 = "papers"
-- $8 = 3
-- $9 = "index/add needs the add credential"
