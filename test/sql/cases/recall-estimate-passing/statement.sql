explain (format json) select from pgrcp.chunks where tenant_id = $1 and corpus = $2 and placement = $3 and removed_version is null and "f_year" >= $4::bigint and not (($5::text = any ("f_tags")) is true)
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "shared"
-- $4 = 2000
-- $5 = "red"
