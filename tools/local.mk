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

# gdr_sim: the engine on many ranks in virtual time
noinst_LTLIBRARIES += libgdr_sim.la
libgdr_sim_la_SOURCES = \
	tools/sim/gsim_events.c tools/sim/gsim_events.h \
	tools/sim/gsim_cluster.c tools/sim/gsim_cluster.h tools/sim/gsim_figures.c \
	tools/sim/gsim_world.c tools/sim/gsim_world.h tools/sim/gsim_priv.h \
	tools/sim/gsim_ports.c tools/sim/gsim_net.c tools/sim/gsim_dev.c \
	tools/sim/gsim_options.c tools/sim/gsim_options.h \
	tools/sim/gsim_report.c tools/sim/gsim_report.h \
	tools/sim/gsim_plot.c tools/sim/gsim_plot.h \
	tools/sim/gsim_goal.c tools/sim/gsim_goal.h
libgdr_sim_la_LIBADD = libgdr_bench.la libgdr_engine.la libgdr_plan.la libgdr_base.la

bin_PROGRAMS += gdr_sim
gdr_sim_SOURCES = tools/sim/gdr_sim.c
gdr_sim_CPPFLAGS = $(AM_CPPFLAGS) -DGSIM_CLUSTERS_DIR='"$(pkgdatadir)/clusters"'
gdr_sim_LDADD = libgdr_sim.la

clustersdir = $(pkgdatadir)/clusters
dist_clusters_DATA = tools/sim/clusters/h200-8x400g tools/sim/clusters/h100-8x400g \
	tools/sim/clusters/a100-4x200g tools/sim/clusters/pcie-1nic

# What docs/performance.md shows: charts, and the times of what is chosen. The same source gives the
# same bytes.
DOCS_PLOTS = h200-8x400g a100-4x200g pcie-1nic
.PHONY: docs-plots
docs-plots: gdr_sim
	@for cluster in $(DOCS_PLOTS); do \
	    to=$(srcdir)/docs/plots/$$cluster; \
	    rm -rf $$to && $(MKDIR_P) $$to && \
	    set -- --mapped on --cluster $(srcdir)/tools/sim/clusters/$$cluster --nodes 1:4 --size 8:1G && \
	    ./gdr_sim "$$@" --algorithm all --plot $$to | sed -n 's/^# auto/auto/p' >$$to/auto.txt && \
	    ./gdr_sim "$$@" >>$$to/auto.txt || exit 1; \
	    echo "$$to: $$(tail -n +1 $$to/auto.txt | head -n 1)"; \
	done
