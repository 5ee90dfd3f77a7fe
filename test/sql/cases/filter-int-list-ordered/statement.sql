(($1::bigint < any ("f_years")) is true and ($2::bigint <= any ("f_years")) is true and ($3::bigint > any ("f_years")) is true and ($4::bigint >= any ("f_years")) is true)
-- $1 = 1
-- $2 = 2
-- $3 = 3
-- $4 = 4
