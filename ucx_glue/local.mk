# ucx_glue: the engine's network over UCX, a shared object that is opened at first device use.
# UCX is named to the linker only: libtool would put its directory into an rpath.
gdrlib_LTLIBRARIES += gdr_ucx.la
noinst_LTLIBRARIES += libgdr_ucx_core.la

libgdr_ucx_core_la_SOURCES = \
	ucx_glue/gdr_ucx.h ucx_glue/ucx.h ucx_glue/tls.c ucx_glue/config.c ucx_glue/open.c \
	ucx_glue/memory.c ucx_glue/peer.c ucx_glue/put.c ucx_glue/self.c ucx_glue/check.c \
	ucx_glue/path.c ucx_glue/verify.c ucx_glue/entries.c
libgdr_ucx_core_la_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CPPFLAGS)

gdr_ucx_la_SOURCES =
gdr_ucx_la_LIBADD = libgdr_ucx_core.la libgdr_base.la
gdr_ucx_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -Wl,-z,defs \
	-Wl,-L$(GDR_UCX_LIBDIR) $(UCX_LIBS:-l%=-Wl,-l%)
