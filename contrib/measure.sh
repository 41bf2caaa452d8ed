#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
# Measures what docs/measurements.md shows, on a machine with two GPUs or, for its part, without any:
#
#     contrib/measure.sh [FOLDER [RUN...]]     # into measurements/ by default; all runs, or those named
#
# Takes about five minutes. FOLDER gets a CSV file and a log for each run, tuning tables, and tables.md
# with all tables. A run that fails is told of and the others go on; the last line says how many of each.
#
# Environment:
#   SYMM_BUILD_DIR   the build folder                     [build/]
#   SYMM_NCCL_LIB    NCCL's library                       [libnccl.so.2]
#   PYTHON           that has PyTorch and mpi4py          [python3]
#   MPIRUN           mpirun                               [in PATH]
#   SYMM_TIME        about the seconds of a contestant at a size [0.1]

symm_root=$(cd "$(dirname "$0")/.." && pwd)
. "$symm_root/contrib/lib.sh"

build=$(symm_build_folder)
perf=$build/bench/symm_perf
folder=${1:-measurements}
test $# -gt 0 && shift
wanted=" $* "
time=${SYMM_TIME:-0.1}
binding="--bind-to core"
done_runs=0
failed_runs=0

have_gpu=no
if test -e /dev/nvidia0 || nvidia-smi -L > /dev/null 2>&1; then
    have_gpu=yes
fi
test -x "$perf" || symm_die "no $perf; build first (contrib/quickstart.sh), or set SYMM_BUILD_DIR"
mkdir -p "$folder" || exit 1
folder=$(cd "$folder" && pwd)

OMPI_MCA_mca_base_component_path=$(symm_plugin_path "$build")
OMPI_MCA_rmaps_base_oversubscribe=1 # a small machine may have two ranks on one core
# Multicast over NVLink can put the GPUs of a shared machine out of service; nobody here needs it.
NCCL_NVLS_ENABLE=0
TORCH_SYMM_MEM_DISABLE_MULTICAST=1
export OMPI_MCA_mca_base_component_path OMPI_MCA_rmaps_base_oversubscribe
export NCCL_NVLS_ENABLE TORCH_SYMM_MEM_DISABLE_MULTICAST

# run NAME SECONDS COMMAND...: two ranks, within the time; what they print goes to NAME.log.
run() {
    name=$1
    limit=$2
    shift 2
    case $wanted in
        "  " | *" $name "*) ;;
        *) return ;;
    esac
    if test "$have_gpu" = no && test "${name#gpu}" != "$name"; then
        symm_say "$name: left out, no GPU"
        return
    fi
    started=$(date +%s)
    # shellcheck disable=SC2086  # several arguments
    timeout -k 5 "$limit" "${MPIRUN:-mpirun}" -np 2 $binding "$@" > "$folder/$name.log" 2>&1
    status=$?
    if test "$status" -eq 0; then
        done_runs=$((done_runs + 1))
        symm_say "$name: $(($(date +%s) - started)) s"
    else
        failed_runs=$((failed_runs + 1))
        symm_say "$name: FAILED after $(($(date +%s) - started)) s, status $status (124: out of time), see $folder/$name.log"
        grep -E '^symm_perf:|[A-Za-z]Error' "$folder/$name.log" | head -n 3
    fi
}

# measure NAME SECONDS ARGUMENT...: a run of symm_perf, with a CSV file.
measure() {
    name=$1
    limit=$2
    shift 2
    run "$name" "$limit" --mca osc symm,sm "$perf" --time "$time" --csv "$folder/$name.csv" "$@"
}

# gpu NAME SECONDS ARGUMENT...: the same on GPU memory.
gpu() {
    name=$1
    limit=$2
    shift 2
    measure "$name" "$limit" --kind cuda:device "$@"
}

collectives=allreduce,allgather,reduce_scatter,alltoall,bcast,reduce,gather,scatter
updates=put,get,put_many,put_rows,get_rows,accumulate,fetch

# Checking every element of the largest sizes would take longer than measuring them.
gpu gpu_small 100 --peers nccl,nccl_symm --ops $collectives,allgather_rows,barrier --placement both \
    --min 16 --max 16M --factor 4 --verify
gpu gpu_large 120 --peers nccl,nccl_symm --ops $collectives,allgather_rows --placement both \
    --min 64M --max 256M --factor 4
gpu gpu_overlap 100 --peers nccl,nccl_symm --overlap --placement both --min 16M --max 256M --factor 4 --verify
gpu gpu_rma 60 --peers memcpy --ops $updates --factor 8 --max 256M
# NCCL's copy engines, which it uses for symmetric buffers when told to.
NCCL_CTA_POLICY=2
export NCCL_CTA_POLICY
gpu gpu_ce 60 --peers nccl_symm --ops allgather,alltoall,bcast,gather,scatter --min 1M --max 256M --factor 4
gpu gpu_ce_overlap 60 --peers nccl_symm --overlap --placement both --min 16M --max 256M --factor 4 --verify
unset NCCL_CTA_POLICY
run gpu_tuning 40 --mca osc symm "$perf" --kind cuda:device --tune="$folder/gpu_tuning.txt" --max 64M

# mpi4py must take the MPI that mpirun belongs to; PyTorch's threads want cores of their own.
MPI4PY_LIBMPI=$(ldd "$perf" "$build/bench/.libs/symm_perf" 2> /dev/null | sed -n 's/.*libmpi\.so[.0-9]* => \([^ ]*\).*/\1/p' | head -n 1)
export MPI4PY_LIBMPI
test "$(nproc)" -lt 8 || binding="--map-by slot:PE=4 --bind-to core"
run gpu_torch 90 --mca osc symm "${PYTHON:-python3}" "$symm_root/bench/torch_symm.py" --time "$time" \
    --csv "$folder/gpu_torch.csv"

binding="--bind-to core"
measure host_collectives 90 --kind system --peers default --ops $collectives,barrier --max 64M --factor 8 --verify
measure host_rma 60 --kind system --peers default --ops put,get,put_many,put_rows,accumulate,fetch \
    --max 1M --factor 8
run host_tuning 40 --mca osc symm "$perf" --kind system --tune="$folder/host_tuning.txt" --max 16M

# tables NAME...: the tables of these runs, as one.
tables() {
    set -- "$@" end
    while test "$1" != end; do
        test -s "$folder/$1.csv" && set -- "$@" "$folder/$1.csv"
        shift
    done
    shift
    test $# -gt 0 || return
    printf '\n## %s\n' "$(basename "$1" .csv)"
    "$symm_root/contrib/perf_table.py" "$@"
}

for group in "gpu_small gpu_large" gpu_overlap gpu_ce gpu_ce_overlap gpu_torch gpu_rma host_collectives host_rma; do
    # shellcheck disable=SC2086  # a list of names
    tables $group
done > "$folder/tables.md"
symm_say "tables: $folder/tables.md"
echo "$done_runs runs done, $failed_runs failed"
test "$failed_runs" -eq 0 && test "$done_runs" -gt 0
