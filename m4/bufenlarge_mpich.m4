dnl SPDX-License-Identifier: MIT
dnl BUFENLARGE_MPICH_COMPILERS: which compilers is configure given? "make mpich" gives them to MPICH's configure, which
dnl looks for the others by itself. It stands before the macros that set CC and CXX to what they find.
AC_DEFUN([BUFENLARGE_MPICH_COMPILERS], [
  AC_ARG_VAR([FC], [Fortran compiler command, for "make mpich"])
  AM_SUBST_NOTMAKE([FC])
  AC_SUBST([MPICH_CC], [$CC])
  AC_SUBST([MPICH_CXX], [$CXX])
  AC_SUBST([MPICH_FC], [$FC])
])

dnl BUFENLARGE_MPICH: from which MPICH source, into which folder and with which flags does
dnl "make mpich" build?
AC_DEFUN([BUFENLARGE_MPICH], [
  AC_ARG_WITH([mpich-source],
    [AS_HELP_STRING([--with-mpich-source=DIR],
      [unmodified MPICH source that "make mpich" builds a copy of])],
    [], [with_mpich_source=no])
  AC_ARG_WITH([mpich-prefix],
    [AS_HELP_STRING([--with-mpich-prefix=DIR], [where "make mpich" installs MPICH @<:@PREFIX@:>@])],
    [], [with_mpich_prefix='${prefix}'])
  AC_ARG_WITH([mpich-flags],
    [AS_HELP_STRING([--with-mpich-flags=FLAGS],
      [more flags for MPICH's configure, also --disable-fortran or FC=COMPILER; they override the project's, which
       "tools/mpich-build --help" lists])],
    [], [with_mpich_flags=])
  AC_ARG_WITH([mpich-unsupported],
    [AS_HELP_STRING([--with-mpich-unsupported],
      [try a version of MPICH for which there are no patches, with the nearest ones])],
    [], [with_mpich_unsupported=no])
  AS_CASE([$with_mpich_unsupported],
    [yes], [MPICH_VERSION_FLAGS=--unsupported],
    [no], [MPICH_VERSION_FLAGS=],
    [AC_MSG_ERROR([--with-mpich-unsupported takes yes or no, not '$with_mpich_unsupported'])])
  AS_CASE([$with_mpich_source],
    [no], [
      MPICH_SOURCE=
      bufenlarge_mpich_summary="no: needs --with-mpich-source=DIR"
    ],
    [yes], [AC_MSG_ERROR([--with-mpich-source needs a directory])],
    [
      AC_MSG_CHECKING([for the version of MPICH in $with_mpich_source])
      bufenlarge_mpich_version=$("$srcdir/tools/mpich-version" $MPICH_VERSION_FLAGS \
        "$with_mpich_source" "$srcdir/mpich-patches" 2>&1) || {
        AC_MSG_RESULT([not usable])
        AC_MSG_ERROR([$bufenlarge_mpich_version])
      }
      bufenlarge_mpich_patches=${bufenlarge_mpich_version#* }
      bufenlarge_mpich_version=${bufenlarge_mpich_version% *}
      AC_MSG_RESULT([$bufenlarge_mpich_version])
      MPICH_SOURCE=$(cd "$with_mpich_source" && pwd)
      bufenlarge_mpich_summary="MPICH $bufenlarge_mpich_version from $MPICH_SOURCE"
      test "$bufenlarge_mpich_version" = "$bufenlarge_mpich_patches" ||
        bufenlarge_mpich_summary="$bufenlarge_mpich_summary, with the patches of $bufenlarge_mpich_patches"
    ])
  AC_SUBST([MPICH_SOURCE])
  AC_SUBST([MPICH_VERSION_FLAGS])
  AC_SUBST([MPICH_PREFIX], [$with_mpich_prefix])
  AC_SUBST([MPICH_FLAGS], [$with_mpich_flags])
])
