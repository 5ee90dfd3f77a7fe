("f_active" = $1::boolean) is not true
-- $1 = false
