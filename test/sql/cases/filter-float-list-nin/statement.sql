("f_ratings" && $1::float8[]) is not true
-- $1 = [0.5]
