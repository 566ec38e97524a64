# GDR_CHECK_OMPI: Open MPI with its devel headers.
# Sets OMPI_CPPFLAGS, OMPI_LDFLAGS, OMPI_LIBS, OMPI_VERSION, plugindir.
AC_DEFUN([GDR_CHECK_OMPI], [
    AC_ARG_WITH([ompi-src], [AS_HELP_STRING([--with-ompi-src=DIR],
        [Open MPI source tree of exactly the installed version, for headers that packages leave out])],
        [GDR_ABSOLUTE([with_ompi_src], [--with-ompi-src])], [with_ompi_src=])
    AC_ARG_WITH([plugindir], [AS_HELP_STRING([--with-plugindir=DIR],
        [where mca_coll_gdr.so goes (default: LIBDIR/openmpi; Open MPI's own: ompi_info --path pkglibdir)])],
        [plugindir=$withval], [plugindir='${libdir}/openmpi'])
    AC_SUBST([plugindir])
    AC_PATH_PROG([MPICC], [mpicc], [no])
    AS_IF([test "x$MPICC" = xno],
          [AC_MSG_ERROR([mpicc is missing: install Open MPI 4.1 or 5.0 with its development files (Debian: libopenmpi-dev openmpi-bin).])])
    OMPI_CPPFLAGS=
    for d in $($MPICC --showme:incdirs); do OMPI_CPPFLAGS="$OMPI_CPPFLAGS -isystem $d"; done
    AS_IF([test -n "$with_ompi_src" && test ! -f "$with_ompi_src/ompi/mca/coll/coll.h"],
          [AC_MSG_ERROR([--with-ompi-src=$with_ompi_src is not an Open MPI source tree (no ompi/mca/coll/coll.h)])])
    AS_IF([test -n "$with_ompi_src"],
          [OMPI_CPPFLAGS="$OMPI_CPPFLAGS -isystem $with_ompi_src -isystem $with_ompi_src/ompi/include -isystem $with_ompi_src/opal/include"])
    OMPI_LDFLAGS=
    for d in $($MPICC --showme:libdirs); do OMPI_LDFLAGS="$OMPI_LDFLAGS -L$d"; done
    OMPI_LIBS="-lmpi -lopen-pal"
    gdr_save_CPPFLAGS="$CPPFLAGS"; gdr_save_LDFLAGS="$LDFLAGS"; gdr_save_LIBS="$LIBS"
    CPPFLAGS="$CPPFLAGS $OMPI_CPPFLAGS"; LDFLAGS="$LDFLAGS $OMPI_LDFLAGS"; LIBS="$OMPI_LIBS $LIBS"
    # Since 5.0 they include PMIx, libevent and hwloc, which distributions keep elsewhere.
    PKG_CHECK_VAR([gdr_pmix_includedir], [pmix], [includedir], [], [gdr_pmix_includedir=])
    PKG_CHECK_VAR([gdr_pmix_libdir], [pmix], [libdir], [], [gdr_pmix_libdir=.])
    AC_MSG_CHECKING([for Open MPI's devel headers (ompi/mca/coll/coll.h)])
    gdr_headers=no
    for gdr_more in "" "$gdr_pmix_includedir"; do
        AS_IF([test -n "$gdr_more"], [gdr_more="-isystem $gdr_more"])
        CPPFLAGS="$gdr_save_CPPFLAGS $OMPI_CPPFLAGS $gdr_more"
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <stddef.h>
#include <ompi_config.h>
#include <ompi/mca/coll/coll.h>
#include <ompi/communicator/communicator.h>
#include <ompi/mca/pml/pml.h>
#if OMPI_MAJOR_VERSION >= 5
#include <opal/mca/pmix/pmix-internal.h>
#endif]], [[mca_coll_base_module_t m; (void)m;]])],
            [gdr_headers=yes; OMPI_CPPFLAGS="$OMPI_CPPFLAGS $gdr_more"; break])
    done
    CPPFLAGS="$gdr_save_CPPFLAGS $OMPI_CPPFLAGS"
    AC_MSG_RESULT([$gdr_headers])
    AS_IF([test "x$gdr_headers" = xno],
          [AC_MSG_ERROR([Open MPI's devel headers do not compile (config.log says why). They come with --with-devel-headers (Debian: libopenmpi-dev; those of 5.0 also need libpmix-dev, libevent-dev and libhwloc-dev); where a package leaves some out, as Debian's of 5.0, name the source tree of the same version with --with-ompi-src=DIR.])])
    # 5.0 has no interface of its own to what processes publish: PMIx is called.
    gdr_links=no
    AC_MSG_CHECKING([what Open MPI's libraries are])
    for gdr_more in "" -lpmix "-L$gdr_pmix_libdir -lpmix"; do
        LIBS="$OMPI_LIBS $gdr_more $gdr_save_LIBS"
        AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>
int opal_progress_register(int (*)(void));
#if OMPI_MAJOR_VERSION >= 5
int PMIx_Initialized(void);
#else
#define PMIx_Initialized() 0
#endif]],
                                        [[opal_progress_register(0); return PMIx_Initialized() + MPI_Finalize();]])],
            [gdr_links=yes; OMPI_LIBS="$OMPI_LIBS $gdr_more"; break])
    done
    AS_IF([test "x$gdr_links" = xno],
          [AC_MSG_RESULT([unknown])
           AC_MSG_ERROR([libmpi and libopen-pal (and libpmix, of 5.0) do not link (Debian: libopenmpi-dev, libpmix-dev; config.log says why).])])
    AC_MSG_RESULT([$OMPI_LIBS])
    CPPFLAGS="$gdr_save_CPPFLAGS"; LDFLAGS="$gdr_save_LDFLAGS"; LIBS="$gdr_save_LIBS"
    OMPI_VERSION=$($MPICC --showme:version | sed -n 's/.*Open MPI \([[0-9.]]*\).*/\1/p')
    AS_CASE([$OMPI_VERSION],
        [4.1.*|5.0.*], [],
        [AC_MSG_ERROR([Open MPI $OMPI_VERSION ($MPICC): 4.1.x and 5.0.x are supported, the interface of components differs in others.])])
    AC_SUBST([OMPI_CPPFLAGS])
    AC_SUBST([OMPI_LDFLAGS])
    AC_SUBST([OMPI_LIBS])
    AC_SUBST([OMPI_VERSION])
    # Open MPI's headers define PACKAGE_VERSION for themselves: the component says its own this way.
    gdr_version=$(echo "$PACKAGE_VERSION" | tr . ' ')
    set -- $gdr_version
    GDR_VERSION_CPPFLAGS="-DGDR_VERSION_MAJOR=$[]1 -DGDR_VERSION_MINOR=$[]2 -DGDR_VERSION_RELEASE=$[]3"
    GDR_VERSION_CPPFLAGS="$GDR_VERSION_CPPFLAGS -DGDR_VERSION='\"$PACKAGE_VERSION\"'"
    AC_SUBST([GDR_VERSION_CPPFLAGS])
])
