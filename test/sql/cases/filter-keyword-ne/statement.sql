("f_lang" = $1::text) is not true
-- $1 = "en' or '1'='1"
