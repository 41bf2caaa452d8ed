dnl SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
dnl SYMM_CHECK_NVCC: the device compiler, after SYMM_CHECK_CUDA. Without it all but the kernels is
dnl built. Sets symm_have_kernels, NVCC and NVCC_GENCODE (the architectures that NVCC takes).
AC_DEFUN([SYMM_CHECK_NVCC], [
    AC_ARG_WITH([nvcc],
        [AS_HELP_STRING([--with-nvcc@<:@=NVCC@:>@],
                        [the nvcc to run; no builds without kernels (default: the CUDA folder's, then PATH)])],
        [], [with_nvcc=search])
    AC_ARG_WITH([nvcc-gencode],
        [AS_HELP_STRING([--with-nvcc-gencode=FLAGS],
                        [nvcc's -gencode flags, all of them (default: sm_80, sm_90, sm_100 and PTX for later ones, as far as nvcc knows them)])],
        [], [with_nvcc_gencode=search])
    AC_ARG_VAR([NVCCFLAGS], [flags for nvcc])
    symm_nvcc_why=
    NVCC=
    AS_CASE([$symm_have_cuda:$with_nvcc],
        [*:no], [symm_nvcc_why="turned off"
                 SYMM_DISTCHECK_FLAG([--with-nvcc=no])],
        [0:*], [symm_nvcc_why="no CUDA backend to run kernels"],
        [*:yes|*:search|*:],
            [AC_PATH_PROG([symm_nvcc_path], [nvcc], [], [$symm_cuda_dir/bin$PATH_SEPARATOR$PATH])
             NVCC=$symm_nvcc_path
             AS_IF([test -z "$NVCC"], [symm_nvcc_why="no nvcc in $symm_cuda_dir/bin and PATH"])],
        [NVCC=$with_nvcc
         SYMM_DISTCHECK_FLAG([--with-nvcc=$with_nvcc])])

    NVCC_GENCODE=
    AS_IF([test -z "$symm_nvcc_why"],
        [AS_IF([test "$with_nvcc_gencode" = "search"],
             [for symm_gencode in compute_80,code=sm_80 compute_90,code=sm_90 \
                                  compute_100,code=sm_100 compute_80,code=compute_80; do
                  SYMM_NVCC_TRY([-gencode arch=$symm_gencode],
                      [NVCC_GENCODE="$NVCC_GENCODE -gencode arch=$symm_gencode"])
              done],
             [SYMM_DISTCHECK_FLAG([--with-nvcc-gencode=$with_nvcc_gencode])
              SYMM_NVCC_TRY([$with_nvcc_gencode], [NVCC_GENCODE=$with_nvcc_gencode],
                  [AC_MSG_ERROR([nvcc does not take --with-nvcc-gencode="$with_nvcc_gencode", see config.log])])])
         AS_IF([test -z "$NVCC_GENCODE"],
             [symm_nvcc_why="$NVCC compiles for none of our architectures, see config.log"])])

    AC_MSG_CHECKING([whether kernels can be built])
    AS_IF([test -z "$symm_nvcc_why"],
        [symm_have_kernels=1
         symm_nvcc_result="yes: $NVCC,`echo "$NVCC_GENCODE" | sed 's/-gencode arch=[[a-z0-9_]]*,code=//g'`"],
        [symm_have_kernels=0
         symm_nvcc_result="no: $symm_nvcc_why"])
    AC_MSG_RESULT([$symm_nvcc_result])
    AS_CASE([$symm_have_kernels:$with_nvcc],
        [1:*|0:no|0:search], [],
        [AC_MSG_ERROR([--with-nvcc was asked for, but $symm_nvcc_why])])

    AC_DEFINE_UNQUOTED([SYMM_HAVE_KERNELS], [$symm_have_kernels], [see there])
    AM_CONDITIONAL([SYMM_HAVE_KERNELS], [test "$symm_have_kernels" = "1"])
    AC_SUBST([NVCC])
    AC_SUBST([NVCC_GENCODE])
])

dnl SYMM_NVCC_TRY(FLAGS, IF-WORKS, [IF-NOT])
dnl A real compilation, with the flags of the real rule: it finds an nvcc too old for the flags or
dnl the architecture, and a host compiler that nvcc refuses.
AC_DEFUN([SYMM_NVCC_TRY], [
    AC_MSG_CHECKING([whether nvcc takes $1])
    echo '__global__ void symm_conftest(int *word) { *word = 1; }' > conftest.cu
    AS_IF([$NVCC $NVCCFLAGS -std=c++17 $1 -MD -MF conftest.d -fatbin -o conftest.fatbin conftest.cu >&AS_MESSAGE_LOG_FD 2>&1],
        [AC_MSG_RESULT([yes])
         $2],
        [AC_MSG_RESULT([no])
         $3])
    rm -f conftest.cu conftest.d conftest.fatbin
])
