with votes as (
  select corpus, hit_id, count(*) as signals, bool_or(poison_suspected) as poison_suspected, bool_or(injection_suspected) as injection_suspected,
    bool_or(used) as used, bool_or(cited) as cited, bool_or(helpful) as helpful, bool_or(not helpful) as unhelpful, avg(reward) as reward, max(received_at) as last_at
  from pgrcp_state.feedback where tenant_id = $1 and expires_at > now() group by corpus, hit_id, issuer, subject
)
select corpus, hit_id, sum(signals)::bigint as signals, count(*) as callers,
  count(*) filter (where poison_suspected) as poison_suspected, count(*) filter (where injection_suspected) as injection_suspected,
  count(*) filter (where used) as used, count(*) filter (where cited) as cited,
  count(*) filter (where helpful) as helpful, count(*) filter (where unhelpful) as unhelpful, avg(reward) as reward, max(last_at) as last_at
from votes group by corpus, hit_id
order by count(*) filter (where poison_suspected or injection_suspected) desc, count(*) desc, corpus, hit_id limit $2::int
-- $1 = "acme"
-- $2 = 100
