("f_title" = $1::text) is true
-- $1 = "$1"
