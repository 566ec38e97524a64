# GDR_CHECK_UCX: UCX 1.18 or newer, from --with-ucx=DIR or pkg-config.
# Sets UCX_CPPFLAGS, UCX_LDFLAGS, UCX_LIBS and GDR_UCX_LIBDIR (where the tests' LD_LIBRARY_PATH must
# look first: another libucp in the process would win otherwise).
AC_DEFUN([GDR_CHECK_UCX], [
    AC_ARG_WITH([ucx], [AS_HELP_STRING([--with-ucx=DIR], [UCX installation (default: pkg-config)])],
                [GDR_ABSOLUTE([with_ucx], [--with-ucx])], [with_ucx=])
    AS_IF([test -n "$with_ucx"],
          [UCX_CPPFLAGS="-isystem $with_ucx/include"; UCX_LDFLAGS="-L$with_ucx/lib"
           GDR_UCX_LIBDIR=$with_ucx/lib],
          [PKG_CHECK_MODULES([UCX], [ucx >= 1.18],
                             [UCX_CPPFLAGS="$UCX_CFLAGS"
                              GDR_UCX_LIBDIR=$($PKG_CONFIG --variable=libdir ucx)
                              UCX_LDFLAGS="-L$GDR_UCX_LIBDIR"],
                             [UCX_CPPFLAGS=; UCX_LDFLAGS=; GDR_UCX_LIBDIR=])])
    UCX_LIBS="-lucp -lucs"
    gdr_save_CPPFLAGS="$CPPFLAGS"; gdr_save_LDFLAGS="$LDFLAGS"; gdr_save_LIBS="$LIBS"
    CPPFLAGS="$CPPFLAGS $UCX_CPPFLAGS"; LDFLAGS="$LDFLAGS $UCX_LDFLAGS"; LIBS="$UCX_LIBS $LIBS"
    AC_MSG_CHECKING([for UCX 1.18 or newer])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <ucp/api/ucp.h>
#if UCP_API_VERSION < UCP_VERSION(1, 18)
#error too old
#endif]], [[unsigned a, b, c; ucp_get_version(&a, &b, &c);]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([UCX 1.18 or newer does not compile and link (Debian 12 has 1.13, without CUDA). Name one with --with-ucx=DIR, or let ./quickstart fetch it.])])
    CPPFLAGS="$gdr_save_CPPFLAGS"; LDFLAGS="$gdr_save_LDFLAGS"; LIBS="$gdr_save_LIBS"
    AC_SUBST([UCX_CPPFLAGS])
    AC_SUBST([UCX_LDFLAGS])
    AC_SUBST([UCX_LIBS])
    AC_SUBST([GDR_UCX_LIBDIR])
])
