dnl SPDX-License-Identifier: MIT
dnl BUFENLARGE_WARNINGS: are warnings errors? They are always shown.
AC_DEFUN([BUFENLARGE_WARNINGS], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [warnings are errors])],
    [], [enable_werror=no])
  BUFENLARGE_WARNING_FLAGS="-Wall -Wextra -Wconversion -Wshadow"
  AS_CASE([$enable_werror],
    [yes], [BUFENLARGE_WARNING_FLAGS="$BUFENLARGE_WARNING_FLAGS -Werror"],
    [no], [],
    [AC_MSG_ERROR([--enable-werror takes yes or no, not '$enable_werror'])])
  AC_SUBST([BUFENLARGE_WARNING_FLAGS])
])
