($1::text = any ("f_notes")) is true
-- $1 = "%"
