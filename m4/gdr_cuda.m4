# GDR_CHECK_CUDA: cuda.h (compiled, not looked for) and nvcc (run on a kernel), from
# --with-cuda=DIR, PATH or /usr/local/cuda.
# Sets CUDA_HOME, CUDA_MAJOR, CUDA_CPPFLAGS, NVCC.
AC_DEFUN([GDR_CHECK_CUDA], [
    AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=DIR],
                                        [CUDA toolkit (default: where nvcc is, /usr/local/cuda)])],
                [GDR_ABSOLUTE([with_cuda], [--with-cuda])], [with_cuda=])
    AS_IF([test -n "$with_cuda"],
          [AC_PATH_PROG([NVCC], [nvcc], [no], [$with_cuda/bin])],
          [AC_PATH_PROG([NVCC], [nvcc], [no], [$PATH$PATH_SEPARATOR/usr/local/cuda/bin])])
    AS_IF([test "x$NVCC" = xno],
          [AC_MSG_ERROR([nvcc is missing. Name a CUDA toolkit (12.0 or newer) with --with-cuda=DIR, install one (package cuda-nvcc of NVIDIA's repository), or let ./quickstart fetch it.])])
    AS_IF([test -z "$with_cuda"],
          [with_cuda=$(dirname "$(dirname "$(readlink -f "$NVCC")")")])
    CUDA_CPPFLAGS="-isystem $with_cuda/include"
    gdr_save_CPPFLAGS="$CPPFLAGS"
    CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS"
    AC_MSG_CHECKING([for cuda.h 12.0 or newer])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <cuda.h>
#if CUDA_VERSION < 12000
#error too old
#endif]], [[CUcontext c = 0; (void)c;]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([cuda.h (12.0 or newer) does not compile in $with_cuda/include. Name a toolkit with --with-cuda=DIR, install its headers (package cuda-cudart-dev of NVIDIA's repository), or let ./quickstart fetch them.])])
    CPPFLAGS="$gdr_save_CPPFLAGS"
    AC_MSG_CHECKING([whether $NVCC makes a fatbin])
    cat >conftest.cu <<_GDR_EOF
extern "C" __global__ void gdr_conftest(int *p) { *p = 1; }
_GDR_EOF
    AS_IF([AC_RUN_LOG(["$NVCC" -fatbin -o conftest.fatbin conftest.cu >&AS_MESSAGE_LOG_FD])],
          [AC_MSG_RESULT([yes])],
          [AC_MSG_RESULT([no])
           AC_MSG_ERROR([$NVCC cannot compile a kernel; config.log says why (often: a host compiler that is newer than this toolkit knows).])])
    rm -f conftest.cu conftest.fatbin
    CUDA_HOME=$with_cuda
    CUDA_MAJOR=$("$NVCC" --version | sed -n 's/.*release \([[0-9]]*\)\..*/\1/p')
    AC_SUBST([CUDA_MAJOR])
    AC_SUBST([CUDA_HOME])
    AC_SUBST([CUDA_CPPFLAGS])
    AC_SUBST([NVCC])
])
