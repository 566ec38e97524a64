# coll_gdr/device
