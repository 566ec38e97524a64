# tools: gdr_bench
noinst_LTLIBRARIES += libgdr_bench.la
libgdr_bench_la_SOURCES = \
	tools/bench/bench_options.c tools/bench/bench_options.h \
	tools/bench/bench_format.c tools/bench/bench_format.h \
	tools/bench/bench_data.c tools/bench/bench_data.h \
	tools/bench/bench_stats.c tools/bench/bench_stats.h \
	tools/bench/tax_options.c tools/bench/tax_options.h

bin_PROGRAMS += gdr_bench
gdr_bench_SOURCES = tools/bench/gdr_bench.c \
	tools/bench/bench_cuda.c tools/bench/bench_cuda.h \
	tools/bench/bench_measure.c tools/bench/bench_measure.h \
	tools/bench/bench_pvar.c tools/bench/bench_pvar.h \
	tools/bench/bench_report.c tools/bench/bench_report.h \
	tools/bench/bench_tax.c tools/bench/bench_tax.h \
	tools/bench/tax_comms.c tools/bench/tax_comms.h \
	tools/bench/tax_report.c tools/bench/tax_report.h \
	tools/bench/bench_way.c tools/bench/bench_way.h
gdr_bench_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) $(CUDA_CPPFLAGS)
gdr_bench_LDFLAGS = $(AM_LDFLAGS) $(OMPI_LDFLAGS)
gdr_bench_LDADD = libgdr_bench.la -lmpi -ldl
