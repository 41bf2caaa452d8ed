#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
# Kills the last rank of fault_death at each phase, and looks whether the others end within a bounded
# time, what is left of them, and whether the next run is clean. The name is as of run_mpi_test.sh:
# fault_death.npN on host memory, fault_death.fakeN on the fake driver. Environment as there.

test=$(basename "$1" .death)
dir=$(dirname "$1")
runner=$(dirname "$0")/../mpi/run_mpi_test.sh
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

# Seconds within which a launcher is to notice; kept apart from SYMM_TEST_TIMEOUT, since nothing is
# computed here.
limit=60

# Everything that Open MPI keeps in files goes where nobody else's is.
mkdir "$work/tmp"
TMPDIR=$work/tmp
OMPI_MCA_btl_vader_backing_directory=$work/tmp
OMPI_MCA_btl_sm_backing_directory=$work/tmp
export TMPDIR OMPI_MCA_btl_vader_backing_directory OMPI_MCA_btl_sm_backing_directory

fail() {
    echo "FAIL: $test, $phase: $1"
    failed=$((failed + 1))
}

ours_in_shm() {
    find /dev/shm -maxdepth 1 \( -name '*symm*' -o -name '*fake_cuda*' \) 2> /dev/null | sort
}

# run PHASE: the program's status in rc, what it said in the file out, its seconds in took.
run() {
    phase=$1
    before=$(ours_in_shm)
    start=$(date +%s)
    SYMM_TEST_TIMEOUT=$limit sh "$runner" "$dir/$test" "$phase" > "$work/out" 2>&1
    rc=$?
    took=$(($(date +%s) - start))
    files=$(find "$work/tmp" -type f -o -type s)
    test -z "$files" || fail "left behind: $files"
    test "$before" = "$(ours_in_shm)" || fail "something is left in /dev/shm"
    ! grep -q '^left running' "$work/out" || fail "$(grep '^left running' "$work/out")"
    rm -rf "$work/tmp"
    mkdir "$work/tmp"
}

# die PHASE: a run that is to end early, by the launcher.
die() {
    run "$1"
    if test "$rc" -eq 0 || ! grep -q 'exited on signal 9' "$work/out"; then
        fail "no rank was killed"
        cat "$work/out"
    elif test "$took" -ge "$limit"; then
        fail "the others were still there after $took s"
        cat "$work/out"
    else
        echo "$test, $phase: ended after $took s"
    fi
}

# live: a run without a death.
live() {
    run none
    if test "$rc" -ne 0; then
        fail "exit status $rc"
        cat "$work/out"
    fi
}

live
if test "$rc" -eq 77; then
    cat "$work/out"
    exit 77
fi
calls='sendmsg@1 recvmsg@1 fcntl@1 mmap@2 munmap@1'
if test "${test%.fake*}" != "$test"; then
    calls='cuMemCreate@1 cuMemImportFromShareableHandle@1 cuMemSetAccess@1 cuGraphLaunch@1 cuGraphLaunch@2
        cuMemUnmap@1 sendmsg@1 recvmsg@1'
fi
for phase in creation put lock collective free; do
    die "$phase"
done
for call in $calls; do
    die "$call=kill"
done
live
test "$failed" -eq 0
