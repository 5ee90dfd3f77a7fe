with sizes as (
  select octet_length(tenant_id) + octet_length(corpus) + octet_length(term) as key, octet_length(packed) + octet_length(wide) as bytes from pgrcp.postings
), needed as (
  select coalesce(sum(56 + key + case when bytes <= $1::int then bytes else 18 end), 0) as rows, coalesce(sum(bytes) filter (where bytes > $2::int), 0) as out, coalesce(sum(28 + key), 0) as keys from sizes
)
select pg_relation_size('pgrcp.postings') / $3::int as pages, ceil(needed.rows / (0.8 * $4::int))::bigint as needed_pages,
  coalesce(pg_relation_size(nullif(c.reltoastrelid, 0)), 0) as out_bytes, (needed.out * 1.1)::bigint as needed_out_bytes,
  pg_indexes_size('pgrcp.postings') as index_bytes, (needed.keys / 0.9)::bigint as needed_index_bytes
from needed, pg_class c where c.oid = 'pgrcp.postings'::regclass
-- $1 = 8000
-- $2 = 8000
-- $3 = 8192
-- $4 = 8192
