AC_DEFUN([GDR_SUMMARY], [
    AC_MSG_NOTICE([
  coll/gdr $PACKAGE_VERSION
    Open MPI   $OMPI_VERSION ($MPICC)
    UCX        ${with_ucx:-pkg-config}
    CUDA       $CUDA_HOME ($NVCC)
    plugin in  $plugindir
    unit tests ${have_cmocka}])
])
