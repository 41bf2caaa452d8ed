dnl SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
dnl SYMM_CHECK_CUDA: the headers cuda.h and cudaTypedefs.h. Nothing is linked: the driver is opened at
dnl run time, so that the plug-in loads on a machine without it.
dnl Sets symm_have_cuda, CUDA_CPPFLAGS and symm_cuda_dir (empty for the system's own folders).
AC_DEFUN([SYMM_CHECK_CUDA], [
    AC_ARG_WITH([cuda],
        [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@],
                        [CUDA headers in DIR/include; no turns the CUDA backend off (default: CUDA_HOME, nvcc in PATH, /usr/local/cuda)])],
        [], [with_cuda=search])
    symm_cuda_why=
    CUDA_CPPFLAGS=
    symm_cuda_dir=
    AS_CASE([$with_cuda],
        [no], [symm_cuda_why="turned off"
               SYMM_DISTCHECK_FLAG([--with-cuda=no])
               symm_cuda_dirs=],
        [yes|search|""],
            [symm_cuda_dirs=$CUDA_HOME
             # nvcc in PATH may be a link to the toolkit's: follow it.
             symm_nvcc=`command -v nvcc 2>/dev/null`
             AS_IF([test -n "$symm_nvcc"],
                 [symm_nvcc=`readlink -f "$symm_nvcc"`
                  symm_cuda_dirs="$symm_cuda_dirs `dirname "$symm_nvcc"`/.."])
             symm_cuda_dirs="$symm_cuda_dirs /usr/local/cuda"],
        [SYMM_WITH_DIR([cuda])
         SYMM_DISTCHECK_FLAG([--with-cuda=$with_cuda])
         symm_cuda_dirs=$with_cuda])

    for symm_dir in $symm_cuda_dirs; do
        AS_IF([test -r "$symm_dir/include/cuda.h"],
            [symm_cuda_dir=`cd "$symm_dir" && pwd`
             break])
    done
    AS_IF([test -z "$symm_cuda_why" && test -z "$symm_cuda_dir"],
        [symm_cuda_why="no include/cuda.h in:$symm_cuda_dirs"])
    # As for Open MPI: the headers' warnings are not ours, and /usr/include keeps its place.
    AS_IF([test -n "$symm_cuda_dir" && test "$symm_cuda_dir" != "/usr"],
        [CUDA_CPPFLAGS="-isystem $symm_cuda_dir/include"])

    AS_IF([test -z "$symm_cuda_why"],
        [symm_save_CPPFLAGS=$CPPFLAGS
         CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS"
         AC_COMPILE_IFELSE([AC_LANG_PROGRAM(
                 [[#include <cuda.h>
                   #include <cudaTypedefs.h>]],
                 [[PFN_cuMemCreate_v10020 create = 0;
                   CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_FABRIC;
                   return 0 != create || 0 == type;]])],
             [],
             [symm_cuda_why="the cuda.h in $symm_cuda_dir is older than CUDA 12.4 (no fabric handles) or unusable, see config.log"])
         CPPFLAGS=$symm_save_CPPFLAGS])

    AC_MSG_CHECKING([for CUDA headers])
    AS_IF([test -z "$symm_cuda_why"],
        [symm_have_cuda=1
         symm_cuda_result="yes: $symm_cuda_dir/include"],
        [symm_have_cuda=0
         symm_cuda_result="no: $symm_cuda_why"
         CUDA_CPPFLAGS=])
    AC_MSG_RESULT([$symm_cuda_result])
    AS_CASE([$symm_have_cuda:$with_cuda],
        [1:*|0:no|0:search], [],
        [AC_MSG_ERROR([--with-cuda was asked for, but $symm_cuda_why])])

    AC_DEFINE_UNQUOTED([SYMM_HAVE_CUDA], [$symm_have_cuda], [see there])
    AM_CONDITIONAL([SYMM_HAVE_CUDA], [test "$symm_have_cuda" = "1"])
    AC_SUBST([CUDA_CPPFLAGS])
])
