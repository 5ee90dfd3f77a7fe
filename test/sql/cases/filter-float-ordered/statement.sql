(("f_rating" > $1::float8) is true and ("f_rating" >= $2::float8) is true and ("f_rating" < $3::float8) is true and ("f_rating" <= $4::float8) is true)
-- $1 = 0.1
-- $2 = 0.2
-- $3 = 0.3
-- $4 = 0.4
