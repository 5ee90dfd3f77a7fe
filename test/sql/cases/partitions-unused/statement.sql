select t.relname::text as "table", case when i.inhrelid is null then 'detached' when i.inhdetachpending then 'detaching' else 'attached' end as state
from pg_class t left join pg_inherits i on i.inhrelid = t.oid
where t.relnamespace = 'pgrcp'::regnamespace and t.relkind = 'r' and starts_with(t.relname, 'chunks_p_')
  and not exists (select from pgrcp.corpora c where 'chunks_' || c.placement = t.relname or 'chunks_' || c.moving_from = t.relname)
order by 1
