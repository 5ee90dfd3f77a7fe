select i.relname::text as name from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
where not x.indisvalid and t.relnamespace = 'pgrcp'::regnamespace and starts_with(t.relname, 'chunks_p_') and starts_with(i.relname, t.relname || '_graph') order by 1
