($1::text = any ("f_tags")) is true
-- $1 = "news"
