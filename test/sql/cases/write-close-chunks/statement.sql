with closed as (update pgrcp.chunks set removed_version = $1 where tenant_id = $2 and corpus = $3 and placement = 'shared' and doc_id = any($4::text[]) and removed_version is null returning terms) select count(*) as chunks, coalesce(sum(terms), 0)::bigint as length from closed
-- $1 = 8
-- $2 = "acme"
-- $3 = "papers"
-- $4 = ["a","it's"]
