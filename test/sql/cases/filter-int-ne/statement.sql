("f_year" = $1::bigint) is not true
-- $1 = -2147483649
