not ((("f_year" = $1::bigint) is true or "f_lang" is null))
-- $1 = 1
