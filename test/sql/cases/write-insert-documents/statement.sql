insert into pgrcp.documents (tenant_id, corpus, doc_id, added_version, title, uri, language, source, issuer, subject, token_id, trust, injection_suspected, quarantined, meta, chunk_count, text_bytes)
select $1, $2, d.doc_id, $3::bigint, d.title, d.uri, d.language, $4, $5, $6, $7, d.trust, d.injection_suspected, d.quarantined, d.meta::json, d.chunk_count, d.text_bytes
from unnest($8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::boolean[], $14::boolean[], $15::text[], $16::int[], $17::bigint[])
as d(doc_id, title, uri, language, trust, injection_suspected, quarantined, meta, chunk_count, text_bytes)
-- $1 = "acme"
-- $2 = "papers"
-- $3 = 8
-- $4 = "api"
-- $5 = "https://issuer.test"
-- $6 = "alice"
-- $7 = "jti-1"
-- $8 = ["plain","held"]
-- $9 = [null,"NULL"]
-- $10 = [null,"https://example.com/a,b"]
-- $11 = [null,"en"]
-- $12 = ["untrusted","community"]
-- $13 = [false,true]
-- $14 = [false,true]
-- $15 = ["{}","{\"year\":1999, \"year\":2000}"]
-- $16 = [1,0]
-- $17 = [22,0]
