update pgrcp.postings set packed = packed || ''::bytea where ctid = any(array(select ctid from pgrcp.postings where ctid >= $1::tid and ctid < $2::tid and octet_length(packed) + octet_length(wide) > $3::int for update skip locked))
-- $1 = "(0,0)"
-- $2 = "(500,0)"
-- $3 = 8000
