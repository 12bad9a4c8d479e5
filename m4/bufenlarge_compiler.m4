dnl SPDX-License-Identifier: MIT
dnl BUFENLARGE_COMPILER: is the C++ compiler one that the sources are written for?
dnl
dnl Answered by version and not by trying features: the versions are those the project is tested
dnl with, and an error that names them helps more than one about a missing feature.
AC_DEFUN([BUFENLARGE_COMPILER], [
  AC_MSG_CHECKING([for GCC 12 or Clang 14, or later])
  bufenlarge_compiler=$($CXX --version 2>/dev/null </dev/null | sed -n 1p)
  AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#if defined(__clang__)
#if __clang_major__ < 14
#error "Clang is too old"
#endif
#elif !defined(__GNUC__) || __GNUC__ < 12
#error "not GCC 12 or later"
#endif
  ]])], [AC_MSG_RESULT([$bufenlarge_compiler])], [
    AC_MSG_RESULT([no])
    AC_MSG_ERROR([bufenlarge needs GCC 12 or Clang 14, or later; $CXX is: ]dnl
[${bufenlarge_compiler:-no compiler}. Set CXX to choose another one])
  ])
  AC_SUBST([BUFENLARGE_LANGUAGE_FLAGS], ["-std=c++20"])
])
