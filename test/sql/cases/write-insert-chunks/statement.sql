insert into pgrcp.chunks (tenant_id, corpus, placement, chunk_no, doc_id, ordinal, added_version, terms, start_offset, end_offset, fingerprint, embedding)
select $1, $2, $3, c.chunk_no, c.doc_id, c.ordinal, $4::bigint, c.terms, c.start_offset, c.end_offset, c.fingerprint, c.embedding::halfvec
from unnest($5::int[], $6::text[], $7::int[], $8::int[], $9::int[], $10::int[], $11::bit(128)[], $12::text[])
as c(chunk_no, doc_id, ordinal, terms, start_offset, end_offset, fingerprint, embedding)
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
