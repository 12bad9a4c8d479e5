dnl SPDX-License-Identifier: MIT
dnl BUFENLARGE_CATCH2: can the tests be built? Without Catch2 the library can; "make check" then
dnl fails and says why. Version 2 is a header, version 3 has a library.
AC_DEFUN([BUFENLARGE_CATCH2], [
  AC_MSG_CHECKING([for Catch2, version 2 or 3])
  CATCH2_CPPFLAGS=
  CATCH2_LIBS=
  AC_PREPROC_IFELSE([AC_LANG_SOURCE([[
#include <catch2/catch.hpp>
#if CATCH_VERSION_MAJOR != 2
#error "not version 2"
#endif
  ]])], [
    bufenlarge_tests=yes
  ], [AC_PREPROC_IFELSE([AC_LANG_SOURCE([[
#include <catch2/catch_version_macros.hpp>
#if CATCH_VERSION_MAJOR != 3
#error "not version 3"
#endif
  ]])], [
    bufenlarge_tests=yes
    CATCH2_CPPFLAGS='-I$(srcdir)/test/catch3'
    CATCH2_LIBS=-lCatch2
  ], [bufenlarge_tests="no: Catch2 is missing (Debian: apt-get install catch2)"])])
  AC_MSG_RESULT([$bufenlarge_tests])
  AC_SUBST([CATCH2_CPPFLAGS])
  AC_SUBST([CATCH2_LIBS])
  AM_CONDITIONAL([BUFENLARGE_TESTS], [test "$bufenlarge_tests" = yes])
])
