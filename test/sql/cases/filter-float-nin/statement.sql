("f_rating" = any ($1::float8[])) is not true
-- $1 = [4.5,-0.5]
