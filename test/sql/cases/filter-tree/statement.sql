((("f_year" = $1::bigint) is true or ("f_year" = $2::bigint) is true) and not (("f_active" = $3::boolean) is true))
-- $1 = 0
-- $2 = 1999
-- $3 = true
