(("f_published" > $1::bigint) is true and ("f_published" >= $2::bigint) is true and ("f_published" < $3::bigint) is true and ("f_published" <= $4::bigint) is true)
-- $1 = 946684799000
-- $2 = 946684799001
-- $3 = 1682899200500
-- $4 = 1682899200000
