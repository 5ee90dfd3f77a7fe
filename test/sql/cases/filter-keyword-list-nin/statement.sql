("f_tags" && $1::text[]) is not true
-- $1 = ["news","blog"]
