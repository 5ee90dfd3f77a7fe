("f_published" = $1::bigint) is true
-- $1 = 1682899200000
