("f_year" = any ($1::bigint[])) is not true
-- $1 = [2023]
