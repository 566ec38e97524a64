# GDR_CHECK_CUDA: cuda.h (compiled, not looked for) and nvcc (run), from --with-cuda=DIR or PATH.
# Sets CUDA_CPPFLAGS, NVCC and the conditional HAVE_NVCC.
AC_DEFUN([GDR_CHECK_CUDA], [
    AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=DIR],
                                        [CUDA toolkit (default: where nvcc is, /usr/local/cuda)])],
                [], [with_cuda=])
    AS_IF([test -n "$with_cuda"],
          [AC_PATH_PROG([NVCC], [nvcc], [no], [$with_cuda/bin])],
          [AC_PATH_PROG([NVCC], [nvcc], [no], [$PATH$PATH_SEPARATOR/usr/local/cuda/bin])])
    AS_IF([test "x$NVCC" != xno && test -z "$with_cuda"],
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
         AC_MSG_ERROR([cuda.h (12.0 or newer) does not compile. Name a toolkit with --with-cuda=DIR, install one, or let ./quickstart fetch it.])])
    CPPFLAGS="$gdr_save_CPPFLAGS"
    AS_IF([test "x$NVCC" = xno],
          [AC_MSG_ERROR([nvcc is missing. Name a toolkit with --with-cuda=DIR, install one, or let ./quickstart fetch it.])])
    CUDA_HOME=$with_cuda
    AC_SUBST([CUDA_HOME])
    AC_SUBST([CUDA_CPPFLAGS])
    AC_SUBST([NVCC])
])
