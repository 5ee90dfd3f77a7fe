("f_lang" = any ($1::text[])) is true
-- $1 = ["en","{fr,\"de\"}","NULL"]
