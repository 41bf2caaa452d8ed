#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
# Runs one MPI test as its name says: NAME.npN on the host, NAME.gpuN on GPUs, NAME.fakeN on GPUs of
# the fake driver (test/fake_cuda), with N ranks of the program NAME in the test's folder. By hand, in
# the build tree's test/mpi:
#
#     ../../../test/mpi/run_mpi_test.sh win_basic.np3 [arguments of the program]
#
# Environment:
#   SYMM_TEST_KIND         kind of window memory      [system; .gpuN, .fakeN: cuda:device]
#   SYMM_TEST_TIMEOUT      seconds allowed            [120]
#   SYMM_TEST_MPIRUN_ARGS  further arguments for mpirun, split at blanks
#   SYMM_TEST_BUILDDIR     the top build folder       [../.. of the test's folder]
#   MPIRUN                 mpirun                     [in PATH]
#
# Exit status: 0 passed; 77 skipped, with a line "SKIP..." that says why; all else failed.

test=$1
shift
dir=$(dirname "$test")
name=$(basename "$test" .mpi)
program=$dir/${name%.*}
variant=${name##*.}

case $variant in
    np[1-9] | np[1-9][0-9]) ranks=${variant#np} default_kind=system ;;
    gpu[1-9] | gpu[1-9][0-9]) ranks=${variant#gpu} default_kind=cuda:device ;;
    fake[1-9] | fake[1-9][0-9]) ranks=${variant#fake} default_kind=cuda:device ;;
    *) echo "FAIL: $name is none of NAME.npN, NAME.gpuN and NAME.fakeN"; exit 1 ;;
esac

SYMM_TEST_KIND=${SYMM_TEST_KIND:-$default_kind}
export SYMM_TEST_KIND
builddir=${SYMM_TEST_BUILDDIR:-$(cd "$dir/../.." && pwd)}
if test "$variant" != "${variant#fake}"; then
    fake=$builddir/test/fake_cuda/.libs
    if ! test -e "$fake/libcuda.so.1"; then
        echo "SKIP: configure found no cuda.h for the fake driver"
        exit 77
    fi
    LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
elif test "$SYMM_TEST_KIND" != "system" && ! test -e /dev/nvidia0 && ! nvidia-smi -L > /dev/null 2>&1; then
    echo "SKIP: no GPU for kind $SYMM_TEST_KIND"
    exit 77
fi

for component in osc coll; do
    # A folder that is missing would end Open MPI's search and hide its own plug-ins behind it.
    if ! test -e "$builddir/${component}_symm/.libs/mca_${component}_symm.so"; then
        echo "FAIL: no mca_${component}_symm.so in $builddir/${component}_symm/.libs"
        exit 1
    fi
done
OMPI_MCA_mca_base_component_path=$builddir/osc_symm/.libs:$builddir/coll_symm/.libs:SYS_DEFAULT
OMPI_MCA_mca_base_component_show_load_errors=1
OMPI_MCA_rmaps_base_oversubscribe=1
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_mca_base_component_path OMPI_MCA_mca_base_component_show_load_errors
export OMPI_MCA_rmaps_base_oversubscribe OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM

# Open MPI itself leaks at finalize; the unit tests look for our leaks. Harmless without sanitizers.
ASAN_OPTIONS=detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export ASAN_OPTIONS

# Kills what this test left running: whatever carries its tag in the environment, by process id.
SYMM_TEST_TAG=$name.$$.$(date +%s)
export SYMM_TEST_TAG
reap_ranks() {
    for environ in /proc/[0-9]*/environ; do
        pid=${environ#/proc/}
        pid=${pid%/environ}
        if test "$pid" != "$$" && tr '\0' '\n' 2> /dev/null < "$environ" |
            grep -qxF "SYMM_TEST_TAG=$SYMM_TEST_TAG"; then
            kill -KILL "$pid" 2> /dev/null && echo "left running, and killed: process $pid" >> "$out"
        fi
    done
}

# Ranks outnumber cores, so none is bound: two tests at a time would share cores 0 and 1.
out=$name.mpi.out
# shellcheck disable=SC2086  # SYMM_TEST_MPIRUN_ARGS is split on purpose
timeout -k 5 "${SYMM_TEST_TIMEOUT:-120}" "${MPIRUN:-mpirun}" --oversubscribe --bind-to none \
    --mca osc symm -np "$ranks" $SYMM_TEST_MPIRUN_ARGS "$program" "$@" > "$out" 2>&1 < /dev/null
rc=$?
test "$rc" -eq 0 || reap_ranks
cat "$out"

# mpirun returns the status of the first rank that did not return 0, so 77 may hide another rank's
# failure. A skip needs its reason, and no failure beside it.
if test "$rc" -eq 77; then
    if ! grep -q '^SKIP' "$out"; then
        echo "FAIL: exit status 77 without a line that begins with SKIP"
        rc=1
    elif grep -q '^FAIL' "$out"; then
        echo "FAIL: one rank skipped, another failed"
        rc=1
    fi
elif test "$rc" -eq 124 || test "$rc" -eq 137; then
    echo "FAIL: killed, or still running after ${SYMM_TEST_TIMEOUT:-120} s"
elif test "$rc" -eq 0 && grep -q 'unable to open mca_.*_symm' "$out"; then
    # Open MPI goes on without a module that does not load; the test would have tested nothing.
    echo "FAIL: a module did not load"
    rc=1
elif test "$rc" -eq 99; then
    rc=1 # automake's own code for "stop everything"
fi
rm -f "$out"
exit "$rc"
