dnl SPDX-License-Identifier: MIT
dnl BUFENLARGE_SANITIZER: under which sanitizers are library and tests compiled?
dnl
dnl A finding ends the program, so that a test under a sanitizer cannot pass with one.
AC_DEFUN([BUFENLARGE_SANITIZER], [
  AC_ARG_ENABLE([sanitizer],
    [AS_HELP_STRING([--enable-sanitizer=LIST],
      [compile under sanitizers: address, undefined, "address,undefined" or thread])],
    [], [enable_sanitizer=no])
  AS_CASE([$enable_sanitizer],
    [no], [BUFENLARGE_SANITIZER_FLAGS=""],
    [address|undefined|address,undefined|undefined,address|thread], [
      BUFENLARGE_SANITIZER_FLAGS="-fsanitize=$enable_sanitizer -fno-sanitize-recover=all -fno-omit-frame-pointer"
      bufenlarge_saved_flags=$CXXFLAGS
      CXXFLAGS="$CXXFLAGS $BUFENLARGE_SANITIZER_FLAGS"
      AC_MSG_CHECKING([whether $CXX links with -fsanitize=$enable_sanitizer])
      AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [AC_MSG_RESULT([yes])], [
        AC_MSG_RESULT([no])
        AC_MSG_ERROR([$CXX cannot link with -fsanitize=$enable_sanitizer; see config.log])
      ])
      CXXFLAGS=$bufenlarge_saved_flags
    ],
    [AC_MSG_ERROR([--enable-sanitizer takes address, undefined, "address,undefined" or thread, ]dnl
[not '$enable_sanitizer'])])
  AC_SUBST([BUFENLARGE_SANITIZER_FLAGS])
])
