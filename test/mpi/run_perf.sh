#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
# One rank of the benchmark PERF, run as the test that is named: what comes out is verified, or
# looked at here; times are not.

kind=$SYMM_TEST_KIND
case $1 in
    perf_operations)
        exec "$PERF" --kind "$kind" --max 20K --factor 50 --time 0.001 --rounds 3 --placement both --verify
        ;;
    perf_overlap)
        if test "$kind" = "system"; then # it needs GPUs, as rank 0 says
            said=$("$PERF" --kind "$kind" --overlap --max 1M 2>&1) && exit 1
            test "${OMPI_COMM_WORLD_RANK:-0}" != "0" || test "$said" != "${said#*no GPU memory}"
            exit
        fi
        exec "$PERF" --kind "$kind" --overlap --placement both --max 1M --time 0.01 --verify
        ;;
    perf_tune)
        table=$1.$PPID.txt
        "$PERF" --kind "$kind" --tune="$table" --max 4K || exit 1
        test "${OMPI_COMM_WORLD_RANK:-0}" != "0" && exit 0
        # host, or whatever joins the GPUs; a kernel moves a block for each rank
        ! awk '$3 == "kernel_max" && $4 % $2 != 0 { print "FAIL: " $0; wrong = 1 } END { exit !wrong }' "$table" &&
            grep -qE "^(host|same_gpu|nvlink|pcie) [0-9]+ one_shot_max [0-9]+$" "$table" &&
            test "$(grep -c '^host' "$table")" -eq "$(test "$kind" = "system" && echo 1 || echo 0)"
        found=$?
        cat "$table"
        rm -f "$table"
        exit "$found"
        ;;
esac
echo "FAIL: $1 is no test of run_perf.sh"
exit 1
