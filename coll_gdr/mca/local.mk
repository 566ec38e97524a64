# coll_gdr/mca
