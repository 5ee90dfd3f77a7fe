(strpos("f_title", $1::text) > 0) is true
-- $1 = "%_\\"
