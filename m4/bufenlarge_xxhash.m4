dnl SPDX-License-Identifier: MIT
dnl BUFENLARGE_XXHASH: is xxhash.h there? Only the header is used, nothing is linked.
AC_DEFUN([BUFENLARGE_XXHASH], [
  AC_MSG_CHECKING([for xxhash.h with XXH3])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#define XXH_INLINE_ALL
#include <xxhash.h>
  ]], [[return static_cast<int>(XXH3_64bits("", 0) & 1);]])], [AC_MSG_RESULT([yes])], [
    AC_MSG_RESULT([no])
    AC_MSG_ERROR([bufenlarge needs the header xxhash.h, version 0.8 or later (Debian: apt-get install libxxhash-dev)])
  ])
])
