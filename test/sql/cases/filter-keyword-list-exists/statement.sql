"f_tags" is not null
