("f_flags" && $1::boolean[]) is true
-- $1 = [false]
