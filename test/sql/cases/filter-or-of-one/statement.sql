(("f_year" = $1::bigint) is true)
-- $1 = 1
