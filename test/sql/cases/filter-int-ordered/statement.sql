(("f_year" > $1::bigint) is true and ("f_year" >= $2::bigint) is true and ("f_year" < $3::bigint) is true and ("f_year" <= $4::bigint) is true)
-- $1 = 1
-- $2 = 2
-- $3 = 3
-- $4 = 4
