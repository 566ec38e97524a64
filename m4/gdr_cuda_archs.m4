# GDR_CHECK_CUDA_ARCHS: what nvcc generates code for, into NVCC_GENCODE. Needs NVCC.
# SASS of X.Y runs on every X.Z with Z >= Y, so one per major suffices; the PTX of the oldest serves
# all other cards, older and newer. One PTX means one pass of the front end. Only what this nvcc
# lists is asked of it: toolkits drop old architectures.
AC_DEFUN([GDR_CHECK_CUDA_ARCHS], [
    AC_ARG_WITH([cuda-archs],
                [AS_HELP_STRING([--with-cuda-archs="80 90 ..."],
                                [compute capabilities to compile for (default: of 70 75 80 90 100
                                 120 those that nvcc knows: PTX of the first, SASS of the others)])],
                [], [with_cuda_archs=])
    AC_ARG_VAR([NVCCFLAGS], [flags for nvcc])
    AC_MSG_CHECKING([for the architectures that nvcc knows])
    gdr_known_archs=" $($NVCC --list-gpu-arch 2>/dev/null | sed -n 's/^compute_//p' | tr '\n' ' ')"
    AS_IF([test -z "$(echo $gdr_known_archs)"],
          [AC_MSG_RESULT([none])
           AC_MSG_ERROR([$NVCC --list-gpu-arch does not answer: the CUDA toolkit is incomplete.])])
    AC_MSG_RESULT([$(echo $gdr_known_archs)])
    AC_MSG_CHECKING([for the architectures to compile for])
    GDR_CUDA_PTX=
    GDR_CUDA_SASS=
    for arch in ${with_cuda_archs:-70 75 80 90 100 120}; do
        AS_CASE(["$gdr_known_archs"],
                [*" $arch "*],
                [AS_IF([test -z "$GDR_CUDA_PTX"], [GDR_CUDA_PTX=$arch])
                 AS_IF([test "$GDR_CUDA_PTX" != "$arch" || test -n "$with_cuda_archs"],
                       [GDR_CUDA_SASS="$GDR_CUDA_SASS $arch"])],
                [AS_IF([test -n "$with_cuda_archs"],
                       [AC_MSG_RESULT([no])
                        AC_MSG_ERROR([$NVCC cannot compile for $arch, which --with-cuda-archs names. It knows:$gdr_known_archs])])])
    done
    AS_IF([test -z "$GDR_CUDA_PTX"],
          [AC_MSG_RESULT([none])
           AC_MSG_ERROR([$NVCC knows none of the default architectures: name some with --with-cuda-archs.])])
    NVCC_GENCODE="compute_$GDR_CUDA_PTX"
    for arch in $GDR_CUDA_SASS; do
        NVCC_GENCODE="$NVCC_GENCODE,sm_$arch"
    done
    NVCC_GENCODE="-gencode arch=compute_$GDR_CUDA_PTX,code=@<:@$NVCC_GENCODE@:>@"
    AC_MSG_RESULT([PTX $GDR_CUDA_PTX, SASS$GDR_CUDA_SASS])
    AC_SUBST([NVCC_GENCODE])
])
