($1::text = any ("f_tags")) is not true
-- $1 = "news"
