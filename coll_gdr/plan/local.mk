# coll_gdr/plan
