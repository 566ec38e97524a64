# GDR_SUMMARY: what was found, in the words of the options that change it; the same flags for
# `make distcheck`, which configures a second tree.
AC_DEFUN([GDR_SUMMARY], [
    gdr_unit_tests=$have_cmocka
    AS_IF([test "x$have_cmocka" != xyes],
          [gdr_unit_tests="no: cmocka is missing; on Debian libcmocka-dev"])
    gdr_peermem=$have_verbs
    AS_IF([test "x$have_verbs" != xyes],
          [gdr_peermem="no: infiniband/verbs.h is missing; on Debian libibverbs-dev"])
    AC_MSG_NOTICE([
  coll/gdr $PACKAGE_VERSION
    Open MPI   $OMPI_VERSION ($MPICC)
    UCX        ${with_ucx:-pkg-config} ($GDR_UCX_LIBDIR)
    CUDA       $CUDA_HOME ($NVCC)
    plugin in  $plugindir
    unit tests $gdr_unit_tests
    peermem    $gdr_peermem])
])
AC_DEFUN([GDR_DISTCHECK_FLAGS], [
    GDR_SAME_FLAGS="--with-cuda=$CUDA_HOME"
    AS_IF([test -n "$with_ucx"], [GDR_SAME_FLAGS="$GDR_SAME_FLAGS --with-ucx=$with_ucx"])
    AS_IF([test -n "$with_ompi_src"],
          [GDR_SAME_FLAGS="$GDR_SAME_FLAGS --with-ompi-src=$with_ompi_src"])
    AC_SUBST([GDR_SAME_FLAGS])
])
