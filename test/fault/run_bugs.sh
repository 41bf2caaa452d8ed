#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
# Shows that the fault loop finds what it is for: applies each patch of bugs/, a deliberate bug, to a
# copy of the sources, builds libmpi_symm from it, and runs the loop with that library, which has to
# fail; without a patch it has to pass. Environment as of run_mpi_test.sh, and
#
#   SYMM_TEST_BUILDDIR, SYMM_TEST_SRCDIR   the top folders, absolute

here=$(cd "$(dirname "$0")" && pwd)
build=$SYMM_TEST_BUILDDIR
source=$SYMM_TEST_SRCDIR
if ! test -e "$build/test/fake_cuda/.libs/libcuda.so.1"; then
    echo "SKIP: configure found no cuda.h for the fake driver"
    exit 77
fi
command -v patch > /dev/null || { echo "SKIP: no patch(1)"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

# Copies keep their times, so that make does again only what a patch has changed.
copy() {
    (cd "$1" && tar -cf - $2) | (mkdir -p "$3" && cd "$3" && tar -xf -)
}
copy "$source" "common_symm kernels m4 config configure configure.ac aclocal.m4" "$work/source"
copy "$build" "common_symm kernels libtool symm_config.h config.status" "$work/build"

# build_copy: libmpi_symm of the sources in $work/source.
build_copy() {
    make -C "$work/build/common_symm" -o Makefile srcdir="$work/source/common_symm" \
        VPATH="$work/source/common_symm" top_srcdir="$work/source" libmpi_symm.la > "$work/log" 2>&1
}

# run_copy: the loop with it. Work on the fake GPUs takes long enough to be seen missing, and small
# copies use both lanes of a queue.
run_copy() {
    OMPI_MCA_coll_symm_copy_engine_only=1 SYMM_FAULT_SECONDS=12 FAKE_CUDA_DELAY_US=1000 \
        LD_LIBRARY_PATH=$work/build/common_symm/.libs \
        sh "$here/../mpi/run_mpi_test.sh" "$build/test/fault/fault_cuda.fake2" \
        in_the_programs_context > "$work/log" 2>&1
}

say() {
    echo "$1"
    case $1 in FAIL*) failed=1; cat "$work/log" ;; esac
}

build_copy || say "FAIL: the copy does not build"
run_copy || say "FAIL: the loop fails without a bug"
for bug in "$here"/bugs/*.patch; do
    name=$(basename "$bug" .patch)
    if ! patch -d "$work/source" -p1 -s -F3 < "$bug" > "$work/log" 2>&1 || ! build_copy; then
        say "FAIL: $name: the patch does not apply or build; make it anew"
    elif run_copy; then
        say "FAIL: $name: the bug was not found"
    else
        say "PASS: $name: $(grep '^FAIL: fault_loop' "$work/log" | sed -n '1s/^FAIL: //p')"
    fi
    patch -d "$work/source" -p1 -s -R -F3 < "$bug" > /dev/null 2>&1
done
exit "$failed"
