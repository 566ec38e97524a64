# coll_gdr/engine
