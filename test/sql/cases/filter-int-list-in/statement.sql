("f_years" && $1::bigint[]) is true
-- $1 = [2023,1999]
