# GDR_CHECK_VERBS: libibverbs' headers, for the emulator's stand-in of nvidia-peermem. Nothing links
# to libibverbs. Sets the conditional HAVE_VERBS and have_verbs.
AC_DEFUN([GDR_CHECK_VERBS], [
    AC_CHECK_HEADER([infiniband/verbs.h], [have_verbs=yes], [have_verbs=no])
    AM_CONDITIONAL([HAVE_VERBS], [test "x$have_verbs" = xyes])
])
