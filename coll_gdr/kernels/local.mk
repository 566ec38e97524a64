# kernels: n-input reduce-copy kernels and their host twins
noinst_HEADERS += coll_gdr/kernels/gdr_kernels.h
