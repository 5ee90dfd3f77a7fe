"f_lang" is null
