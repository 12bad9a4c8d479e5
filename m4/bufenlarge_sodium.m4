dnl SPDX-License-Identifier: MIT
dnl BUFENLARGE_SODIUM: sets SODIUM_CFLAGS and SODIUM_LIBS.
AC_DEFUN([BUFENLARGE_SODIUM], [
  PKG_CHECK_MODULES([SODIUM], [libsodium >= 1.0.16], [], [
    AC_MSG_ERROR([bufenlarge needs libsodium 1.0.16 or later, found by pkg-config (Debian: apt-get install ]dnl
[libsodium-dev). pkg-config says: $SODIUM_PKG_ERRORS])
  ])
])
