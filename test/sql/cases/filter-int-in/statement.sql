("f_year" = any ($1::bigint[])) is true
-- $1 = [2023,1999]
