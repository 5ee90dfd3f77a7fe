("f_published" = any ($1::bigint[])) is true
-- $1 = [1682899200000,-1]
