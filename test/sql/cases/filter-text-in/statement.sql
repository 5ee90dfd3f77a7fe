("f_title" = any ($1::text[])) is true
-- $1 = ["a","b"]
