insert into pgrcp.document_texts (tenant_id, corpus, doc_id, added_version, body, contexts) select $1, $2, d.doc_id, $3::bigint, d.body, d.contexts::json from unnest($4::text[], $5::text[], $6::text[]) as d(doc_id, body, contexts)
-- $1 = "acme"
-- $2 = "papers"
-- $3 = 8
-- $4 = ["plain","held"]
-- $5 = ["It's {text}, \"quoted\"\\",""]
-- $6 = ["[\"of \\\"it\\\"\",\"\"]",null]
