($1::boolean = any ("f_flags")) is true
-- $1 = true
