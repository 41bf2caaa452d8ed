dnl SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
dnl SYMM_CHECK_HWLOC: which device is near which core. 2.0 has the object model that we read.
dnl Sets symm_have_hwloc and HWLOC_CPPFLAGS, HWLOC_LDFLAGS, HWLOC_LIBS.
AC_DEFUN([SYMM_CHECK_HWLOC], [
    SYMM_CHECK_LIB([hwloc], [HWLOC], [2.0], [libhwloc-dev],
        [[#include <hwloc.h>
          #if HWLOC_API_VERSION < 0x00020000
          #error hwloc is older than 2.0
          #endif]],
        [[hwloc_topology_t topology; return hwloc_topology_init(&topology);]])
    AC_DEFINE_UNQUOTED([SYMM_HAVE_HWLOC], [$symm_have_hwloc], [see there])
])
