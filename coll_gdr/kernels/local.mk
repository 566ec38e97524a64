# coll_gdr/kernels
