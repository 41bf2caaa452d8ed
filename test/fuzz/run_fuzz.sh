#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
# Runs ./NAME of NAME.fuzz on its seeds for SYMM_FUZZ_SECONDS [2]: under libFuzzer if
# SYMM_FUZZ_ENGINE says so, else with its own driver.

program=$(basename "$1" .fuzz)
if test "$SYMM_FUZZ_ENGINE" != libfuzzer; then
    exec timeout -k 5 "$((${SYMM_FUZZ_SECONDS:-2} + 60))" "./$program"
fi
# What it finds of new inputs goes into the first folder.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"./$program" -max_total_time="${SYMM_FUZZ_SECONDS:-2}" -seed="${SYMM_FUZZ_SEED:-1}" \
    -print_final_stats=1 "$work" "$SYMM_FUZZ_CORPUS/${program#fuzz_}"
