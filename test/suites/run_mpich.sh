#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
# Builds a folder of MPICH's test suite with Open MPI's compiler and runs its list of tests:
#
#     test/suites/run_mpich.sh PART SCRATCH [SOURCE]
#
# PART is rma or coll, SCRATCH a folder for builds and logs, SOURCE an unpacked source package `mpich` (by
# default it is fetched into SCRATCH). A line a test, then the counts. lib.sh tells the environment. Tests
# that fail for reasons outside the components are named in mpich_PART.expected.

here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

test $# -ge 2 || fail "usage: run_mpich.sh rma|coll SCRATCH [SOURCE]"
part=$1
mkdir -p "$2" || fail "no folder $2"
scratch=$(cd "$2" && pwd)
source=${3:-$(fetch_source mpich "$scratch")} || exit 2
source=$(cd "$source" && pwd) || exit 2
test -x "$source/test/mpi/configure" || fail "$source is no source of MPICH"
build=$scratch/build-mpich
logs=$scratch/logs-mpich-$part
expected=$here/mpich_$part.expected
mkdir -p "$build" "$logs"

# Compiler flags: the suite calls MPI-1 names that Open MPI 4 has but does not declare, and persistent
# collectives, which it has under MPIX names.
write_flags()
{
    local name header=$build/symm-compat.h
    {
        echo '#include <mpi.h>'
        echo '#include <mpi-ext.h>'
        for name in Allgather Allgatherv Allreduce Alltoall Alltoallv Alltoallw Barrier Bcast Exscan \
            Gather Gatherv Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall \
            Neighbor_alltoallv Neighbor_alltoallw Reduce Reduce_scatter Reduce_scatter_block Scan \
            Scatter Scatterv; do
            echo "#if OMPI_MAJOR_VERSION < 5"
            echo "#    define MPI_${name}_init MPIX_${name}_init"
            echo "#endif"
        done
    } > "$header"
    echo "-g -O2 -w -DOMPI_OMIT_MPI1_COMPAT_DECLS=0 -include $header"
}

build_suite()
{
    local folder flags
    cd "$build" || fail "no $build"
    if ! test -f config.status; then
        "$source/test/mpi/configure" CC=mpicc MPICC=mpicc --with-mpi=/usr --with-pm=no --disable-cxx \
            --disable-fortran --disable-spawn --disable-romio --disable-ft-tests \
            --disable-dependency-tracking > configure.log 2>&1 ||
            fail "the suite's configure; see $build/configure.log"
    fi
    flags=$(write_flags)
    for folder in dtpools util; do
        make -C "$folder" CFLAGS="$flags" > "make-$folder.log" 2>&1 ||
            fail "make in $folder; see $build/make-$folder.log"
    done
    # Some tests of calls that this Open MPI has not do not link.
    make -C "$part" -k -j"$(nproc)" CFLAGS="$flags" > "make-$part.log" 2>&1
}

# One line of the list: name, ranks, then words of which arg=WORD is an argument.
run_line()
{
    local name=$1 ranks=$2 word rc log
    local arguments=()
    shift 2
    for word in "$@"; do
        case $word in arg=*) arguments+=("${word#arg=}") ;; esac
    done
    if ! test -x "./$name"; then
        tell NOT_BUILT "$name" "$ranks"
        return
    fi
    number=$((number + 1))
    log=$logs/$(printf '%03d' "$number")-$name.log
    run_one "$name" "$ranks" "$log" "./$name" "${arguments[@]}"
    rc=$?
    if test "$rc" -eq 0 && grep -q '^ No Errors' "$log"; then
        tell PASS "$name" "$ranks"
    elif test -f "$expected" && grep -qxF "$name" "$expected"; then
        tell EXPECTED "$name" "$ranks"
    elif test "$rc" -eq 124; then
        tell TIMEOUT "$name" "$ranks"
    else
        tell FAIL "$name" "$ranks"
    fi
}

set_up_mpirun
build_suite
cd "$build/$part" || fail "no $build/$part"
rm -f "$logs"/*.log
number=0
while read -r line; do
    # shellcheck disable=SC2086  # split on purpose
    set -- ${line%%#*}
    if test $# -ge 2 && wanted "$1"; then
        run_line "$@"
    fi
done < testlist
finish
