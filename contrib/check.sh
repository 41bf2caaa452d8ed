#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
# All checks that this machine can run: unit tests, MPI tests with 1 to 8 ranks and on the fake CUDA
# driver, calls that fail, the same tests in a sanitizer build, the sources' layout, and the GPU tests
# where there is a GPU. Builds in build/ and build-asan/. The last line says how many passed and
# failed; the exit status is 0 only if some passed and none failed.

symm_root=$(cd "$(dirname "$0")/.." && pwd)
. "$symm_root/contrib/lib.sh"
build=$(symm_build_folder)
asan=$build-asan

gpu_note=
summary=
failures=
passed=0
failed=0
skipped=0

# add SUITE PASSED FAILED SKIPPED
add() {
    passed=$((passed + $2))
    failed=$((failed + $3))
    skipped=$((skipped + $4))
    summary="$summary$(printf '%-28s %5d passed %5d failed %5d skipped' "$@")
"
}

# failure TEXT: a line for the list at the end.
failure() {
    failures="$failures  $1
"
}

# number LOG WORD...: the sum of these lines of automake's summary at the head of LOG.
number() {
    log=$1
    shift
    for word in "$@"; do
        sed -n "s/^# $word: *\([0-9][0-9]*\)$/\1/p" "$log"
    done | awk '{ sum += $1 } END { print sum + 0 }'
}

# count SUITE LOG: adds the results in automake's LOG. No log means that make stopped before the
# tests: that is a failure, and so is a suite of no tests at all.
count() {
    if ! test -s "$2" || test "$(number "$2" TOTAL)" -eq 0; then
        failure "$1: no test ran"
        add "$1" 0 1 0
        return
    fi
    add "$1" "$(number "$2" PASS XFAIL)" "$(number "$2" FAIL XPASS ERROR)" "$(number "$2" SKIP)"
    for name in $(sed -n 's/^\(FAIL\|XPASS\|ERROR\): \([^ ]*\)$/\2/p' "$2"); do
        failure "$1: $name"
    done
}

# run_make DIR ARGUMENT...: make that goes on after failures; count() reads the results. The tests
# run one at a time: several mpirun at once on few cores run into their time limits.
run_make() {
    dir=$1
    shift
    symm_say "make $* (in $dir)"
    make -C "$dir" -k VERBOSE=1 "$@"
}

# check SUITE-PREFIX DIR: make check, counted by folder. The programs are built in parallel first.
check() {
    make -C "$2" -k -j "$(nproc)" check TESTS= > /dev/null
    rm -f "$2"/test/*/test-suite.log
    run_make "$2" check
    count "$1 unit" "$2/test/unit/test-suite.log"
    count "$1 fake driver" "$2/test/fake_cuda/test-suite.log"
    count "$1 fuzzers" "$2/test/fuzz/test-suite.log"
    count "$1 mpi, 2 ranks" "$2/test/mpi/test-suite.log"
}

symm_install_missing

if symm_build "$build" "$@"; then
    check host "$build"
    rm -f "$build/test/mpi/test-suite-mpirun.log"
    run_make "$build" check-mpirun
    count "host mpi, 1-8 ranks" "$build/test/mpi/test-suite-mpirun.log"
    rm -f "$build/test/mpi/test-suite-fake.log" "$build/test/fault/test-suite.log"
    run_make "$build" check-fake
    count "fake driver mpi" "$build/test/mpi/test-suite-fake.log"
    SYMM_TEST_TIMEOUT=${SYMM_TEST_TIMEOUT:-600} run_make "$build" check-fault
    count "calls that fail" "$build/test/fault/test-suite.log"
else
    failure "build"
    add build 0 1 0
fi

if test -e /dev/nvidia0 || nvidia-smi -L > /dev/null 2>&1; then
    rm -f "$build/test/mpi/test-suite-gpu.log"
    run_make "$build" check-gpu
    count "gpu mpi" "$build/test/mpi/test-suite-gpu.log"
else
    gpu_note="no GPU here: make check-gpu was skipped"
    symm_say "$gpu_note"
fi

# Leak detection stays on for the unit tests; run_mpi_test.sh turns it off for its programs.
# Kernels for one architecture are enough, since the fake driver runs their host twins.
if symm_build "$asan" --enable-asan --with-nvcc-gencode="-gencode arch=compute_80,code=sm_80" "$@"; then
    SYMM_TEST_TIMEOUT=${SYMM_TEST_TIMEOUT:-300}
    export SYMM_TEST_TIMEOUT
    check sanitizer "$asan"
    rm -f "$asan/test/mpi/test-suite-fake.log"
    run_make "$asan" check-fake "MPI_TESTS_FAKE=\$(MPI_NAMES:=.fake2.mpi)"
    count "sanitizer fake driver mpi" "$asan/test/mpi/test-suite-fake.log"
else
    failure "sanitizer build"
    add "sanitizer build" 0 1 0
fi

symm_say "format-check"
sh "$symm_root/contrib/format-check.sh"
case $? in
    0) add format-check 1 0 0 ;;
    77) add format-check 0 0 1 ;;
    *) failure format-check
       add format-check 0 1 0 ;;
esac

echo
printf '%s' "$summary"
test -z "$gpu_note" || echo "$gpu_note"
test -z "$failures" || printf 'failed:\n%s' "$failures"
echo "$skipped skipped"
echo "$passed passed, $failed failed"
test "$failed" -eq 0 && test "$passed" -gt 0
