#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
# Runs the tests of windows and one-sided operations of mpi4py with the mpi4py that is installed:
#
#     test/suites/run_mpi4py.sh SCRATCH [SOURCE]
#
# SCRATCH is a folder for logs, SOURCE an unpacked source of the same release (by default the
# distribution's source package `mpi4py`, fetched into SCRATCH). A test here is one class, on 1, 2 and 4
# ranks (SYMM_SUITE_RANKS). lib.sh tells the rest of the environment.

here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

test $# -ge 1 || fail "usage: run_mpi4py.sh SCRATCH [SOURCE]"
mkdir -p "$1" || fail "no folder $1"
scratch=$(cd "$1" && pwd)
python=${PYTHON:-/usr/bin/python3}
installed=$("$python" -c 'import mpi4py; print(mpi4py.__version__)') ||
    fail "no mpi4py (Debian: python3-mpi4py, python3-numpy)"
source=${2:-$(fetch_source mpi4py "$scratch")} || exit 2
source=$(cd "$source" && pwd) || exit 2
grep -qF "'$installed'" "$source/src/mpi4py/__init__.py" ||
    fail "$source is not of release $installed, which is installed"
logs=$scratch/logs-mpi4py
mkdir -p "$logs"

# The suite's own main ends with 0 whatever its tests did, and leaves a module out when a window on
# MPI_COMM_SELF cannot be made. Each process tells its counts in one write.
driver='
import os, runpy, sys, unittest
import mpiunittest

def run(*args, **kwargs):
    result = unittest.main(*args, exit=False, **kwargs).result
    bad = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    os.write(2, b"\nSUITE-COUNTS %d %d %d\n" % (result.testsRun, len(result.skipped), bad))

mpiunittest.main = run
mpiunittest.disable = lambda what, reason: what
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
'

# Whether each of $2 processes told its counts, none of them with a failure and some with a test run.
good_counts()
{
    grep -aohE 'SUITE-COUNTS [0-9]+ [0-9]+ [0-9]+' "$1" | awk -v ranks="$2" '
        { n++; run += $2 - $3; bad += $4 } END { exit !(n == ranks && bad == 0 && run > 0) }'
}

set_up_mpirun
export PYTHONDONTWRITEBYTECODE=1
cd "$source/test" || fail "no $source/test"
rm -f "$logs"/*.log
for module in win rma rma_nb; do
    for class in $(sed -nE 's/^[ ]*class (\w+)\(.*unittest\.TestCase\).*/\1/p' "test_$module.py"); do
        wanted "$module.$class" || continue
        for ranks in ${SYMM_SUITE_RANKS:-1 2 4}; do
            log=$logs/$module.$class.np$ranks.log
            run_one "$class" "$ranks" "$log" "$python" -c "$driver" "test_$module.py" -v "$class"
            rc=$?
            if test "$rc" -eq 0 && good_counts "$log" "$ranks"; then
                tell PASS "$module.$class" "$ranks"
            elif test "$rc" -eq 124; then
                tell TIMEOUT "$module.$class" "$ranks"
            elif grep -aqE 'SUITE-COUNTS ([0-9]+) \1 0' "$log" &&
                ! grep -aqE 'SUITE-COUNTS [0-9]+ [0-9]+ [1-9]' "$log"; then
                echo "SKIP $module.$class $ranks (the suite leaves all of it out)"
            else
                tell FAIL "$module.$class" "$ranks"
            fi
        done
    done
done
awk '/SUITE-COUNTS/ { run += $2; skipped += $3; bad += $4 } END {
    print run " test methods over all processes, " skipped " left out by the suite, " bad " failed" }' \
    "$logs"/*.log
finish
