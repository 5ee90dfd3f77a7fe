("f_active" = $1::boolean) is true
-- $1 = true
