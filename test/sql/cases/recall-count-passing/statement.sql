select count(*) as passing from (select from pgrcp.chunks where tenant_id = $1 and corpus = $2 and placement = 'shared' and removed_version is null and "f_year" >= $3::bigint and not (($4::text = any ("f_tags")) is true) limit $5) counted
-- $1 = "acme"
-- $2 = "papers"
-- $3 = 2000
-- $4 = "red"
-- $5 = 5001
