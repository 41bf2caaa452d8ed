dnl SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
dnl Small helpers that the symm_check_*.m4 macros share.

dnl SYMM_WITH_DIR(NAME)
dnl The DIR of --with-NAME=DIR: it must be a folder; a relative one is made absolute, since
dnl distcheck configures from another folder.
AC_DEFUN([SYMM_WITH_DIR], [
    AS_IF([test -d "$with_$1"],
          [with_$1=`cd "$with_$1" && pwd`],
          [AC_MSG_ERROR([--with-$1=$with_$1: no such folder])])
])

dnl SYMM_DISTCHECK_FLAG(FLAG)
dnl Hands what the user gave on to the configure run inside make distcheck.
AC_DEFUN([SYMM_DISTCHECK_FLAG], [
    SYMM_DISTCHECK_FLAGS="$SYMM_DISTCHECK_FLAGS '$1'"
])

dnl SYMM_TRY_CFLAG(VARIABLE, FLAG)
dnl Appends FLAG to VARIABLE when the compiler takes it without a warning.
AC_DEFUN([SYMM_TRY_CFLAG], [
    AC_MSG_CHECKING([whether $CC takes $2])
    symm_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror $2"
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([[int symm_conftest;]])],
        [AC_MSG_RESULT([yes]); $1="$$1 $2"],
        [AC_MSG_RESULT([no])])
    CFLAGS=$symm_save_CFLAGS
])

dnl SYMM_CHECK_LIB(NAME, PREFIX, MIN-VERSION, DEBIAN-PACKAGE, PROLOGUE, BODY)
dnl An optional library with NAME.pc, NAME.h and -lNAME: --with-NAME[=DIR]|no.
dnl Sets symm_have_NAME to 1 or 0, symm_NAME_result for the summary, and PREFIX_CPPFLAGS, _LDFLAGS,
dnl _LIBS. PROLOGUE and BODY make a program that needs the header, a symbol and the version.
AC_DEFUN([SYMM_CHECK_LIB], [
    AC_ARG_WITH([$1],
        [AS_HELP_STRING([--with-$1@<:@=DIR@:>@],
                        [$1 from pkg-config, or from DIR/include and DIR/lib; no turns it off])],
        [], [with_$1=search])
    symm_$1_why=
    $2_CPPFLAGS=
    $2_LDFLAGS=
    $2_LIBS=
    AS_CASE([$with_$1],
        [no], [symm_$1_why="turned off"
               SYMM_DISTCHECK_FLAG([--with-$1=no])],
        [yes|search|""],
            [AS_IF([test -z "$PKG_CONFIG"],
                       [symm_$1_why="no pkg-config"],
                   ["$PKG_CONFIG" --exists "$1 >= $3"],
                       [$2_CPPFLAGS=`"$PKG_CONFIG" --cflags $1`
                        $2_LIBS=`"$PKG_CONFIG" --libs $1`],
                   [symm_$1_why="pkg-config finds no $1 >= $3 (Debian: $4)"])],
        [SYMM_WITH_DIR([$1])
         SYMM_DISTCHECK_FLAG([--with-$1=$with_$1])
         AS_IF([test -r "$with_$1/include/$1.h"], [],
             [symm_$1_why="there is no $with_$1/include/$1.h"])
         $2_CPPFLAGS="-I$with_$1/include"
         $2_LDFLAGS="-L$with_$1/lib -Wl,-rpath,$with_$1/lib"
         $2_LIBS="-l$1"])

    AS_IF([test -z "$symm_$1_why"],
        [symm_save_CPPFLAGS=$CPPFLAGS
         symm_save_LDFLAGS=$LDFLAGS
         symm_save_LIBS=$LIBS
         CPPFLAGS="$CPPFLAGS $$2_CPPFLAGS"
         LDFLAGS="$LDFLAGS $$2_LDFLAGS"
         LIBS="$$2_LIBS $LIBS"
         AC_LINK_IFELSE([AC_LANG_PROGRAM([$5], [$6])],
             [],
             [symm_$1_why="no program with $1 >= $3 links, see config.log (Debian: $4)"])
         CPPFLAGS=$symm_save_CPPFLAGS
         LDFLAGS=$symm_save_LDFLAGS
         LIBS=$symm_save_LIBS])

    AC_MSG_CHECKING([for $1 >= $3])
    AS_IF([test -z "$symm_$1_why"],
        [symm_have_$1=1
         symm_$1_result="yes"],
        [symm_have_$1=0
         symm_$1_result="no: $symm_$1_why"
         $2_CPPFLAGS=
         $2_LDFLAGS=
         $2_LIBS=])
    AC_MSG_RESULT([$symm_$1_result])
    AS_CASE([$symm_have_$1:$with_$1],
        [1:*|0:no|0:search], [],
        [AC_MSG_ERROR([--with-$1 was asked for, but $symm_$1_why])])

    AC_SUBST([$2_CPPFLAGS])
    AC_SUBST([$2_LDFLAGS])
    AC_SUBST([$2_LIBS])
])
