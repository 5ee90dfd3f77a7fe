($1::bigint <= any ("f_dates")) is true
-- $1 = 1682899200000
