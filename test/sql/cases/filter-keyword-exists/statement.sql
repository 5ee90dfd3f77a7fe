"f_lang" is not null
