dnl SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
dnl SYMM_CHECK_OMPI: the host. --with-ompi=DIR, or ompi_info and mpicc in PATH.
dnl Sets OMPI_CPPFLAGS, OMPI_LDFLAGS, OMPI_LIBS, OMPI_INFO, MPICC, MPIRUN, OMPI_PKGLIBDIR (the stock
dnl plug-ins' folder) and symm_ompi_version. ompi/op/op.h is not looked for: Debian leaves out a file
dnl it includes.
AC_DEFUN([SYMM_CHECK_OMPI], [
    AC_ARG_WITH([ompi],
        [AS_HELP_STRING([--with-ompi=DIR],
                        [Open MPI in DIR/bin (default: the ompi_info and mpicc in PATH)])],
        [], [with_ompi=yes])
    AS_CASE([$with_ompi],
        [no], [AC_MSG_ERROR([symm is a plug-in for Open MPI and cannot be built without it])],
        [yes|""], [symm_ompi_path=$PATH],
        [SYMM_WITH_DIR([ompi])
         SYMM_DISTCHECK_FLAG([--with-ompi=$with_ompi])
         symm_ompi_path=$with_ompi/bin])
    AC_PATH_PROG([OMPI_INFO], [ompi_info], [], [$symm_ompi_path])
    AC_PATH_PROG([MPICC], [mpicc], [], [$symm_ompi_path])
    AC_PATH_PROG([MPIRUN], [mpirun], [mpirun], [$symm_ompi_path])
    AS_IF([test -z "$OMPI_INFO" || test -z "$MPICC"],
        [AC_MSG_ERROR([no ompi_info and mpicc in $symm_ompi_path; give --with-ompi=DIR or install Open MPI (Debian: libopenmpi-dev openmpi-bin)])])

    AC_MSG_CHECKING([for the version of Open MPI])
    symm_ompi_version=`"$OMPI_INFO" --parsable 2>/dev/null | sed -n 's/^ompi:version:full://p'`
    AS_IF([test -z "$symm_ompi_version"],
        [AC_MSG_ERROR([$OMPI_INFO tells no version: is it Open MPI's?])])
    AC_MSG_RESULT([$symm_ompi_version])

    # ompi_info, not guesses: distributions move these folders.
    for symm_dir in incdir pkgincludedir pkglibdir; do
        AC_MSG_CHECKING([for Open MPI's $symm_dir])
        symm_value=`"$OMPI_INFO" --parsable --path $symm_dir 2>/dev/null | sed -n "s/^path:$symm_dir://p"`
        AS_IF([test -z "$symm_value"], [AC_MSG_ERROR([$OMPI_INFO --path $symm_dir tells nothing])])
        AC_MSG_RESULT([$symm_value])
        AS_VAR_COPY([symm_ompi_$symm_dir], [symm_value])
    done
    OMPI_PKGLIBDIR=$symm_ompi_pkglibdir

    # -isystem: warnings in Open MPI's headers are not ours to fix. Never for /usr/include itself, as
    # that would reorder the compiler's own search.
    OMPI_CPPFLAGS=
    for symm_dir in "$symm_ompi_pkgincludedir" "$symm_ompi_incdir"; do
        AS_IF([test "$symm_dir" != "/usr/include"],
            [OMPI_CPPFLAGS="$OMPI_CPPFLAGS -isystem $symm_dir"])
    done

    # libopen-pal holds opal_progress and other internals; mpicc names only the public libraries.
    OMPI_LDFLAGS=
    OMPI_LIBS=
    for symm_flag in `"$MPICC" --showme:link`; do
        AS_CASE([$symm_flag],
            [-l*], [OMPI_LIBS="$OMPI_LIBS $symm_flag"],
            [OMPI_LDFLAGS="$OMPI_LDFLAGS $symm_flag"])
    done
    OMPI_LIBS="$OMPI_LIBS -lopen-pal"

    symm_save_CPPFLAGS=$CPPFLAGS
    symm_save_LDFLAGS=$LDFLAGS
    symm_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $OMPI_CPPFLAGS"
    LDFLAGS="$LDFLAGS $OMPI_LDFLAGS"
    LIBS="$OMPI_LIBS $LIBS"

    AC_MSG_CHECKING([for Open MPI's internal headers])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <opal_config.h>]], [])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([Open MPI needs --with-devel-headers (Debian: libopenmpi-dev)])])

    # Headers of one installation and the plug-in folder of another would build modules that crash.
    symm_major=`echo "$symm_ompi_version" | cut -d. -f1`
    symm_minor=`echo "$symm_ompi_version" | cut -d. -f2`
    SYMM_OMPI_NEED([headers of release $symm_major.$symm_minor],
        [[#include <mpi.h>
          #if OMPI_MAJOR_VERSION != ]]$symm_major[[ || OMPI_MINOR_VERSION != ]]$symm_minor[[
          #error another release
          #endif]], [],
        [the mpi.h found first is of another release than $OMPI_INFO])

    SYMM_OMPI_NEED([OMPI_OSC_BASE_VERSION_3_0_0],
        [[#include <opal_config.h>
          #include <ompi/mca/osc/osc.h>]],
        [[static const mca_base_component_t version = {OMPI_OSC_BASE_VERSION_3_0_0};
          (void) version;]],
        [this Open MPI has another one-sided (osc) interface than 3.0.0])

    # Open MPI itself refuses a coll component of another version when it loads it, so take the one
    # that the headers have: 2.0.0 in 4.1, 2.4.0 in 5.0. symm_ompi_compat.h chooses likewise.
    SYMM_OMPI_NEED([MCA_COLL_BASE_VERSION_2_0_0 or 2_4_0],
        [[#include <opal_config.h>
          #include <ompi/mca/coll/coll.h>]],
        [[#ifdef MCA_COLL_BASE_VERSION_2_4_0
          static const mca_base_component_t version = {MCA_COLL_BASE_VERSION_2_4_0};
          #else
          static const mca_base_component_t version = {MCA_COLL_BASE_VERSION_2_0_0};
          #endif
          (void) version;]],
        [this Open MPI has another collectives (coll) interface than 2.0.0 and 2.4.0])

    AC_MSG_CHECKING([whether programs link with Open MPI])
    AC_LINK_IFELSE([AC_LANG_PROGRAM(
            [[#include <mpi.h>
              void opal_progress(void);]],
            [[opal_progress(); return MPI_Init((void *) 0, (void *) 0);]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([no program links with$OMPI_LDFLAGS$OMPI_LIBS, see config.log])])

    CPPFLAGS=$symm_save_CPPFLAGS
    LDFLAGS=$symm_save_LDFLAGS
    LIBS=$symm_save_LIBS

    AC_DEFINE_UNQUOTED([SYMM_OMPI_VERSION], ["$symm_ompi_version"], [see there])
    AC_SUBST([OMPI_PKGLIBDIR])
    AC_SUBST([OMPI_CPPFLAGS])
    AC_SUBST([OMPI_LDFLAGS])
    AC_SUBST([OMPI_LIBS])
])

dnl SYMM_OMPI_NEED(WHAT, PROLOGUE, BODY, ERROR)
dnl A compile test that must pass.
AC_DEFUN([SYMM_OMPI_NEED], [
    AC_MSG_CHECKING([for $1])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([$2], [$3])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([$4])])
])
