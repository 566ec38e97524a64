# GDR_CHECK_WARNINGS: the warning flags that this compiler knows, all of them errors.
# --disable-werror is for a compiler that is newer than the code.
AC_DEFUN([GDR_TRY_CFLAG], [
    AC_MSG_CHECKING([whether $CC accepts $1])
    gdr_save_CFLAGS="$CFLAGS"
    CFLAGS="$CFLAGS -Werror $1"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
                      [AC_MSG_RESULT([yes]); GDR_WARN_CFLAGS="$GDR_WARN_CFLAGS $1"],
                      [AC_MSG_RESULT([no])])
    CFLAGS="$gdr_save_CFLAGS"
])
AC_DEFUN([GDR_CHECK_WARNINGS], [
    AC_ARG_ENABLE([werror], [AS_HELP_STRING([--disable-werror], [let warnings be warnings])],
                  [], [enable_werror=yes])
    GDR_WARN_CFLAGS=
    m4_foreach_w([flag], [-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
                          -Wpointer-arith -Wwrite-strings -Wvla -Wundef -Wformat=2
                          -Wdouble-promotion -Wnull-dereference],
                 [GDR_TRY_CFLAG([flag])])
    AS_IF([test "x$enable_werror" = xyes], [GDR_WARN_CFLAGS="$GDR_WARN_CFLAGS -Werror"])
    AC_SUBST([GDR_WARN_CFLAGS])
    # C++ is used for the kernels' twins alone.
    GDR_WARN_CXXFLAGS="-Wall -Wextra -Wshadow"
    AS_IF([test "x$enable_werror" = xyes], [GDR_WARN_CXXFLAGS="$GDR_WARN_CXXFLAGS -Werror"])
    AC_SUBST([GDR_WARN_CXXFLAGS])
])
# GDR_CHECK_SANITIZERS: --enable-asan and --enable-ubsan
AC_DEFUN([GDR_CHECK_SANITIZERS], [
    AC_ARG_ENABLE([asan], [AS_HELP_STRING([--enable-asan], [build with AddressSanitizer])],
                  [], [enable_asan=no])
    AC_ARG_ENABLE([ubsan], [AS_HELP_STRING([--enable-ubsan], [build with UBSan])],
                  [], [enable_ubsan=no])
    GDR_SAN_CFLAGS=
    AS_IF([test "x$enable_asan" = xyes],
          [GDR_SAN_CFLAGS="-fsanitize=address -fno-omit-frame-pointer"])
    AS_IF([test "x$enable_ubsan" = xyes],
          [GDR_SAN_CFLAGS="$GDR_SAN_CFLAGS -fsanitize=undefined -fno-sanitize-recover=undefined"])
    GDR_SAN_LDFLAGS="$GDR_SAN_CFLAGS"
    AC_SUBST([GDR_SAN_CFLAGS])
    AC_SUBST([GDR_SAN_LDFLAGS])
    AM_CONDITIONAL([GDR_SANITIZED], [test -n "$GDR_SAN_CFLAGS"])
])
# GDR_CHECK_CMOCKA: the unit tests' framework; without it `make check` says so and skips them.
AC_DEFUN([GDR_CHECK_CMOCKA], [
    PKG_CHECK_MODULES([CMOCKA], [cmocka], [have_cmocka=yes], [have_cmocka=no])
    AM_CONDITIONAL([HAVE_CMOCKA], [test "x$have_cmocka" = xyes])
])
