("f_year" = $1::bigint) is true
-- $1 = 9007199254740991
