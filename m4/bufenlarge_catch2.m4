dnl SPDX-License-Identifier: MIT
dnl BUFENLARGE_CATCH2: can the tests be built? Without Catch2 the library can; "make check" then
dnl fails and says why.
AC_DEFUN([BUFENLARGE_CATCH2], [
  AC_MSG_CHECKING([for catch2/catch.hpp (Catch2, version 2)])
  AC_PREPROC_IFELSE([AC_LANG_SOURCE([[
#include <catch2/catch.hpp>
#if CATCH_VERSION_MAJOR != 2
#error "not version 2"
#endif
  ]])], [bufenlarge_tests=yes], [bufenlarge_tests="no: Catch2 version 2 is missing (Debian: apt-get install catch2)"])
  AC_MSG_RESULT([$bufenlarge_tests])
  AM_CONDITIONAL([BUFENLARGE_TESTS], [test "$bufenlarge_tests" = yes])
])
