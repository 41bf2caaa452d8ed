#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
# Makes configure and the Makefile.in files from a git checkout. A dist tarball has them already.

set -e
cd "$(dirname "$0")"

# Each tool with the Debian and Ubuntu package that brings it: autoreconf's own message names neither.
packages=
for pair in autoreconf:autoconf automake:automake libtoolize:libtool; do
    if ! command -v "${pair%%:*}" > /dev/null 2>&1; then
        packages="$packages ${pair#*:}"
    fi
done
if test -n "$packages"; then
    echo "autogen.sh: missing build tools; install the packages:$packages" >&2
    echo "autogen.sh: (a tarball from 'make dist' builds without them)" >&2
    exit 1
fi

exec autoreconf -fiv
