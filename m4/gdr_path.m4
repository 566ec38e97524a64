# GDR_ABSOLUTE(VARIABLE, OPTION): makes a directory that the user named absolute, or stops.
AC_DEFUN([GDR_ABSOLUTE], [
    AS_CASE([$$1],
        [yes|no], [AC_MSG_ERROR([$2 wants a directory: $2=DIR])])
    AS_IF([test -d "$$1"], [],
          [AC_MSG_ERROR([$2=$$1: there is no such directory])])
    $1=$(cd "$$1" && pwd)
])
