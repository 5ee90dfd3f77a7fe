update pgrcp.postings set packed = packed || ''::bytea where ctid >= $1::tid and ctid < $2::tid and octet_length(packed) + octet_length(wide) > $3::int
-- $1 = "(0,0)"
-- $2 = "(500,0)"
-- $3 = 8000
