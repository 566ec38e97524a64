# mca: the component, the only room that includes Open MPI's headers
plugin_LTLIBRARIES = mca_coll_gdr.la
mca_coll_gdr_la_SOURCES = \
	coll_gdr/mca/gdr_ompi_compat.h coll_gdr/mca/gdr_mca.h coll_gdr/mca/gdr_params.h \
	coll_gdr/mca/request.h coll_gdr/mca/staging.h coll_gdr/mca/away.h \
	coll_gdr/mca/asked.h coll_gdr/mca/asked.c coll_gdr/mca/ctl.h \
	coll_gdr/mca/component.c coll_gdr/mca/params.c coll_gdr/mca/providers.c \
	coll_gdr/mca/module.c coll_gdr/mca/nonce.c coll_gdr/mca/facts.c coll_gdr/mca/bringup.c \
	coll_gdr/mca/host_memory.c coll_gdr/mca/host_memory.h \
	coll_gdr/mca/host_block.c coll_gdr/mca/host_block.h \
	coll_gdr/mca/areas.c coll_gdr/mca/areas.h coll_gdr/mca/runs.c coll_gdr/mca/runs.h \
	coll_gdr/mca/mirror.c coll_gdr/mca/mirror.h coll_gdr/mca/shapes.h coll_gdr/mca/coll.h \
	coll_gdr/mca/coll.c coll_gdr/mca/coll_ops.c coll_gdr/mca/coll_slots.c coll_gdr/mca/job.c \
	coll_gdr/mca/persistent.c coll_gdr/mca/choose.c \
	coll_gdr/mca/optypes.c coll_gdr/mca/allreduce.c coll_gdr/mca/iallreduce.c \
	coll_gdr/mca/request.c \
	coll_gdr/mca/progress.c \
	coll_gdr/mca/staging.c \
	coll_gdr/mca/away.c \
	coll_gdr/mca/ctl.c \
	coll_gdr/mca/net_open.c \
	coll_gdr/mca/places.c coll_gdr/mca/node.c coll_gdr/mca/tuning.c coll_gdr/mca/explain.c \
	coll_gdr/mca/pvars.c \
	coll_gdr/mca/promise.c \
	coll_gdr/mca/kinds.c \
	coll_gdr/mca/kinds.h
noinst_HEADERS += coll_gdr/mca/shim/ompi/mpi/fortran/base/fint_2_int.h
gdr_helpdir = $(pkgdatadir)
dist_gdr_help_DATA = coll_gdr/mca/help-mpi-coll-gdr.txt
mca_coll_gdr_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/coll_gdr/mca/shim $(OMPI_CPPFLAGS) \
	$(GDR_VERSION_CPPFLAGS) -DGDR_HELPDIR='"$(gdr_helpdir)"' \
	-DGDR_GLUEDIR='"$(libdir)/coll_gdr"'
mca_coll_gdr_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -Wl,-z,defs $(OMPI_LDFLAGS)
mca_coll_gdr_la_LIBADD = libgdr_engine.la libgdr_device.la libgdr_kernels.la libgdr_plan.la \
	libgdr_base.la $(OMPI_LIBS) -ldl

# Open MPI looks at every file in its component directory: the plugin alone, no libtool archive.
# Without that `libtool --mode=uninstall` does not know what there is.
install-data-hook:
	rm -f $(DESTDIR)$(plugindir)/mca_coll_gdr.la
uninstall-hook:
	rm -f $(DESTDIR)$(plugindir)/mca_coll_gdr.so
