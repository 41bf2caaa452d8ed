#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
# Builds a folder of MPICH's test suite with Open MPI's compiler and runs its list of tests:
#
#     test/suites/run_mpich.sh PART SCRATCH [SOURCE]
#
# PART is rma or coll, SCRATCH a folder for builds and logs, SOURCE an unpacked source package `mpich` (by
# default it is fetched into SCRATCH). A line a test, then the counts. lib.sh tells the environment. Tests
# that fail for reasons outside the components are named in mpich_PART.expected, as words or whole lines of
# the list.
#
# With SYMM_SUITE_MEMORY=window the memory that programs ask for is that of a symmetric window
# (window_memory.c), and collectives work in there whatever their size; those named in mpich_PART.window
# must have had some that did.
#
# Results stay in SCRATCH/mpich-PART.WAY, WAY being stock, symm or window. After a run without the components
# (SYMM_SUITE_OSC=stock) the other runs tell what passed there and fails here.

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
expected=$here/mpich_$part.expected
users=$here/mpich_$part.window
way=symm
test "$suite_osc" = "stock" && way=stock
test "$SYMM_SUITE_MEMORY" = "window" && way=window
logs=$scratch/logs-mpich-$part-$way
results=$scratch/mpich-$part
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

# Builds the library that puts programs' memory into a window, and has them load it. The algorithm is
# one that leaves small messages where they are.
use_windows()
{
    local libraries=$suite_builddir/common_symm/.libs
    mpicc -shared -fPIC -O2 -Wall -I "$here/../../common_symm" -o "$scratch/window_memory.so" \
        "$here/window_memory.c" -L "$libraries" -lmpi_symm -Wl,-rpath,"$libraries" ||
        fail "window_memory.c does not build"
    suite_mpirun+=(--mca coll_symm_algorithm copy_engine -x "LD_PRELOAD=$scratch/window_memory.so")
}

# Collectives that the programs of LOG made in windows, over all ranks.
in_windows()
{
    sed -n 's/^window_memory:.* \([0-9]*\) in windows.*/\1/p' "$1" | awk '{ sum += $1 } END { print sum + 0 }'
}

is_named()
{
    test -f "$1" && grep -qxF -e "$2" -e "$3" "$1"
}

# result VERDICT NAME RANKS LINE
result()
{
    tell "$1" "$2" "$3"
    echo "$1 $4" >> "$results.$way"
}

# One line of the list: name, ranks, then words of which arg=WORD is an argument.
run_line()
{
    local line=$* name=$1 ranks=$2 word rc log
    local arguments=()
    shift 2
    for word in "$@"; do
        case $word in arg=*) arguments+=("${word#arg=}") ;; esac
    done
    if ! test -x "./$name"; then
        is_named "$expected" "$name" "$line" && rc=EXPECTED
        result "${rc:-NOT_BUILT}" "$name" "$ranks" "$line"
        return
    fi
    number=$((number + 1))
    log=$logs/$(printf '%03d' "$number")-$name.log
    run_one "$name" "$ranks" "$log" "./$name" "${arguments[@]}"
    rc=$?
    test "$way" = "window" && windows=$((windows + $(in_windows "$log")))
    if test "$rc" -eq 0 && grep -q '^ No Errors' "$log"; then
        if test "$way" = "window" && is_named "$users" "$name" "$line" &&
            test "$(in_windows "$log")" -eq 0; then
            result NOT_IN_WINDOWS "$name" "$ranks" "$line"
        else
            result PASS "$name" "$ranks" "$line"
        fi
    elif is_named "$expected" "$name" "$line"; then
        result EXPECTED "$name" "$ranks" "$line"
    elif test "$rc" -eq 124; then
        result TIMEOUT "$name" "$ranks" "$line"
    else
        result FAIL "$name" "$ranks" "$line"
    fi
}

# Prints what passed without the components and does not pass now.
compare()
{
    local line
    test "$way" != "stock" && test -f "$results.stock" || return
    sed -n 's/^PASS //p' "$results.stock" | while read -r line; do
        if grep -qxF -e "NOT_BUILT $line" -e "FAIL $line" -e "TIMEOUT $line" -e "EXPECTED $line" \
            "$results.$way"; then
            echo "WORSE THAN WITHOUT: $line"
        fi
    done
}

set_up_mpirun
build_suite
test "$way" = "window" && use_windows
cd "$build/$part" || fail "no $build/$part"
rm -f "$logs"/*.log "$results.$way"
number=0
windows=0
while read -r line; do
    # shellcheck disable=SC2086  # split on purpose
    set -- ${line%%#*}
    if test $# -ge 2 && wanted "$1"; then
        run_line "$@"
    fi
done < testlist
compare
test "$way" = "window" && echo "$windows collectives in windows, over all ranks"
finish
