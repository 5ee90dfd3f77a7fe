insert into pgrcp_state.feedback (tenant_id, call_id, place, corpus, issuer, subject, client, session_hash, query, hit_id, used, cited, helpful, reward, poison_suspected, injection_suspected, expires_at)
select $1, $2::uuid, s.place, $3, $4, $5, $6, $7::bytea, case when s.place = 1 then $8 end, s.hit_id, s.used, s.cited, s.helpful, s.reward, s.poison_suspected, s.injection_suspected, now() + make_interval(days => $9::int)
from unnest($10::text[], $11::boolean[], $12::boolean[], $13::boolean[], $14::float8[], $15::boolean[], $16::boolean[])
with ordinality as s(hit_id, used, cited, helpful, reward, poison_suspected, injection_suspected, place)
order by s.place limit (select greatest(0, least($17::bigint - count(*), $18::bigint - count(*) filter (where issuer = $19 and subject = $20))) from pgrcp_state.feedback where tenant_id = $21)
returning true as kept
-- $1 = "acme"
-- $2 = "00000000-0000-4000-8000-000000000007"
-- $3 = "papers"
-- $4 = "https://issuer.test"
-- $5 = "alice"
-- $6 = "agent"
-- $7 = \x0001feff
-- $8 = "what?"
-- $9 = 30
-- $10 = ["it's#3","held"]
-- $11 = ["true",null]
-- $12 = [null,null]
-- $13 = ["false",null]
-- $14 = ["-0.5",null]
-- $15 = [null,"true"]
-- $16 = [null,null]
-- $17 = 100000
-- $18 = 10000
-- $19 = "https://issuer.test"
-- $20 = "alice"
-- $21 = "acme"
