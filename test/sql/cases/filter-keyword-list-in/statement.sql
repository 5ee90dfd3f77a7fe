("f_tags" && $1::text[]) is true
-- $1 = ["news","blog"]
