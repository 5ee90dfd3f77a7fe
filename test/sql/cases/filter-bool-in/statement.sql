("f_active" = any ($1::boolean[])) is true
-- $1 = [true,false]
