# gdr_tune: measures what the choice between algorithms rests on
noinst_LTLIBRARIES += libgdr_tune.la
libgdr_tune_la_SOURCES = \
	tools/tune/tune_options.c tools/tune/tune_options.h \
	tools/tune/tune_figures.c tools/tune/tune_figures.h \
	tools/tune/tune_device.c tools/tune/tune_device.h
libgdr_tune_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
libgdr_tune_la_LIBADD = libgdr_bench.la libgdr_plan.la libgdr_device.la libgdr_kernels.la \
	libgdr_base.la

bin_PROGRAMS += gdr_tune
gdr_tune_SOURCES = tools/tune/gdr_tune.c \
	tools/tune/tune_glue.c tools/tune/tune_glue.h \
	tools/tune/tune_links.c \
	tools/tune/tune_measure.c tools/tune/tune_measure.h \
	tools/tune/tune_rig.c tools/tune/tune_rig.h
gdr_tune_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) $(GDR_VERSION_CPPFLAGS) \
	-DGDR_GLUEDIR='"$(libdir)/coll_gdr"'
gdr_tune_LDFLAGS = $(AM_LDFLAGS) $(OMPI_LDFLAGS)
gdr_tune_LDADD = libgdr_tune.la -lmpi -ldl
