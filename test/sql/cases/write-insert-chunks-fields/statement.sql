insert into pgrcp.chunks (tenant_id, corpus, placement, chunk_no, doc_id, ordinal, added_version, terms, start_offset, end_offset, fingerprint, embedding, "f_lang", "f_title", "f_year", "f_rating", "f_active", "f_published", "f_tags", "f_notes", "f_years", "f_ratings", "f_flags", "f_dates")
select $1, $2, $3, c.chunk_no, c.doc_id, c.ordinal, $4::bigint, c.terms, c.start_offset, c.end_offset, c.fingerprint, c.embedding::halfvec, c."v0"::text, c."v1"::text, c."v2"::bigint, c."v3"::float8, c."v4"::boolean, c."v5"::bigint, case when c."v6" is null then null else array(select e.value::text from json_array_elements_text(c."v6"::json) with ordinality as e(value, place) order by e.place) end, case when c."v7" is null then null else array(select e.value::text from json_array_elements_text(c."v7"::json) with ordinality as e(value, place) order by e.place) end, case when c."v8" is null then null else array(select e.value::bigint from json_array_elements_text(c."v8"::json) with ordinality as e(value, place) order by e.place) end, case when c."v9" is null then null else array(select e.value::float8 from json_array_elements_text(c."v9"::json) with ordinality as e(value, place) order by e.place) end, case when c."v10" is null then null else array(select e.value::boolean from json_array_elements_text(c."v10"::json) with ordinality as e(value, place) order by e.place) end, case when c."v11" is null then null else array(select e.value::bigint from json_array_elements_text(c."v11"::json) with ordinality as e(value, place) order by e.place) end
from unnest($5::int[], $6::text[], $7::int[], $8::int[], $9::int[], $10::int[], $11::bit(128)[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::text[])
as c(chunk_no, doc_id, ordinal, terms, start_offset, end_offset, fingerprint, embedding, "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11")
-- $1 = "acme"
-- $2 = "papers"
-- $3 = "shared"
-- $4 = 8
-- $5 = [4,5]
-- $6 = ["plain","plain"]
-- $7 = [0,1]
-- $8 = [3,3]
-- $9 = [0,0]
-- $10 = [12,12]
-- $11 = ["01010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101","01010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101"]
-- $12 = ["[0.5,-0.25]","[0.5,-0.25]"]
-- $13 = ["it's",null]
-- $14 = ["a \"title\"",null]
-- $15 = ["-9007199254740991",null]
-- $16 = ["1e-7",null]
-- $17 = ["false",null]
-- $18 = ["1682899200000",null]
-- $19 = ["[\"a'b\",\"q\\\"{},\\\\\",\"\",\"NULL\"]",null]
-- $20 = ["[]",null]
-- $21 = ["[3,1,2]",null]
-- $22 = ["[0.5,1e+308]",null]
-- $23 = ["[true,false]",null]
-- $24 = ["[0,-1]",null]
