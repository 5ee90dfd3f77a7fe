("f_lang" = any ($1::text[])) is not true
-- $1 = ["en"]
