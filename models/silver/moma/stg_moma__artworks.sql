{{ change_log(source("moma", "artworks")) }}
