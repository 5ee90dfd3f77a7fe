("f_rating" = $1::float8) is true
-- $1 = 4.5
