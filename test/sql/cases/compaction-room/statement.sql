with sizes as (
  select octet_length(tenant_id) + octet_length(corpus) + octet_length(term) as key, octet_length(packed) + octet_length(wide) as bytes
  from pgrcp.postings tablesample system (100 * least(1, $1::float8 / greatest(1, pg_relation_size('pgrcp.postings') / $2::int)))
), needed as (
  select coalesce(sum(56 + key + case when bytes <= $3::int then bytes else 18 end), 0) / least(1, $4::float8 / greatest(1, pg_relation_size('pgrcp.postings') / $5::int)) as rows, coalesce(sum(bytes) filter (where bytes > $6::int), 0) / least(1, $7::float8 / greatest(1, pg_relation_size('pgrcp.postings') / $8::int)) as out, coalesce(sum(28 + key), 0) / least(1, $9::float8 / greatest(1, pg_relation_size('pgrcp.postings') / $10::int)) as keys from sizes
)
select pg_relation_size('pgrcp.postings') / $11::int as pages, ceil(needed.rows / (0.8 * $12::int))::bigint as needed_pages,
  coalesce(pg_relation_size(nullif(c.reltoastrelid, 0)), 0) as out_bytes, (needed.out * 1.1)::bigint as needed_out_bytes,
  pg_indexes_size('pgrcp.postings') + coalesce(pg_indexes_size(nullif(c.reltoastrelid, 0)), 0) as index_bytes, ((needed.keys + needed.out / 100) / 0.9)::bigint as needed_index_bytes
from needed, pg_class c where c.oid = 'pgrcp.postings'::regclass
-- $1 = 2000
-- $2 = 8192
-- $3 = 8000
-- $4 = 2000
-- $5 = 8192
-- $6 = 8000
-- $7 = 2000
-- $8 = 8192
-- $9 = 2000
-- $10 = 8192
-- $11 = 8192
-- $12 = 8192
