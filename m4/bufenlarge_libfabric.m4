dnl SPDX-License-Identifier: MIT
dnl BUFENLARGE_LIBFABRIC: where is libfabric, and is it new enough?
AC_DEFUN([BUFENLARGE_LIBFABRIC], [
  PKG_CHECK_MODULES([LIBFABRIC], [libfabric >= 1.17], [], [
    AC_MSG_ERROR([bufenlarge needs libfabric 1.17 or later, found by pkg-config (Debian: apt-get install ]dnl
[libfabric-dev). For one in a folder of its own set PKG_CONFIG_PATH. pkg-config says: $LIBFABRIC_PKG_ERRORS])
  ])
  bufenlarge_libfabric_version=$($PKG_CONFIG --modversion libfabric)
])
