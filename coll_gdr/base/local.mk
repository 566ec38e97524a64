# base: status codes, small math, logging, the table of op x type
noinst_LTLIBRARIES += libgdr_base.la
libgdr_base_la_SOURCES = \
	coll_gdr/base/gdr_status.c coll_gdr/base/gdr_status.h \
	coll_gdr/base/gdr_log.c coll_gdr/base/gdr_log.h \
	coll_gdr/base/gdr_optypes.c coll_gdr/base/gdr_optypes.h coll_gdr/base/optypes.def \
	coll_gdr/base/gdr_math.h
