dnl SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
dnl SYMM_CHECK_CMOCKA: the unit tests' framework. Without it the unit tests report SKIP.
dnl Sets symm_have_cmocka and CMOCKA_CPPFLAGS, CMOCKA_LDFLAGS, CMOCKA_LIBS.
AC_DEFUN([SYMM_CHECK_CMOCKA], [
    SYMM_CHECK_LIB([cmocka], [CMOCKA], [1.1], [libcmocka-dev],
        [[#include <stdarg.h>
          #include <stddef.h>
          #include <setjmp.h>
          #include <stdint.h>
          #include <cmocka.h>]],
        [[return cmocka_run_group_tests_name("none", (const struct CMUnitTest[1]) {{0}}, NULL, NULL);]])
    AM_CONDITIONAL([SYMM_HAVE_CMOCKA], [test "$symm_have_cmocka" = "1"])
])
