("f_lang" = $1::text) is true
-- $1 = "en"
