insert into pgrcp_state.feedback (tenant_id, call_id, place, corpus, issuer, subject, client, session_hash, query, hit_id, used, cited, helpful, reward, poison_suspected, injection_suspected)
select $1, $2::uuid, s.place, $3, $4, $5, $6, $7::bytea, case when s.place = 1 then $8 end, s.hit_id, s.used, s.cited, s.helpful, s.reward, s.poison_suspected, s.injection_suspected
from unnest($9::text[], $10::boolean[], $11::boolean[], $12::boolean[], $13::float8[], $14::boolean[], $15::boolean[])
with ordinality as s(hit_id, used, cited, helpful, reward, poison_suspected, injection_suspected, place)
order by s.place limit greatest(0, $16::bigint - (select count(*) from pgrcp_state.feedback where tenant_id = $17))
returning true as kept
-- $1 = "acme"
-- $2 = "00000000-0000-4000-8000-000000000007"
-- $3 = "papers"
-- $4 = "https://issuer.test"
-- $5 = "alice"
-- $6 = "agent"
-- $7 = \x0001feff
-- $8 = "what?"
-- $9 = ["it's#3","held"]
-- $10 = ["true",null]
-- $11 = [null,null]
-- $12 = ["false",null]
-- $13 = ["-0.5",null]
-- $14 = [null,"true"]
-- $15 = [null,null]
-- $16 = 100000
-- $17 = "acme"
