#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
# Compares what the fake driver answers to conformance's questions with what a real one answered,
# conformance.h200.txt. They may differ in the lines of conformance.differences alone, as diff(1) marks
# them: < the real driver's, > the fake's.

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# Misuse is what many questions are about; work takes long enough to be seen under way.
FAKE_CUDA_STRICT=0 FAKE_CUDA_DELAY_US=5000 ./conformance > "$work/answers" 2> "$work/errors"
diff "$here/conformance.h200.txt" "$work/answers" | grep '^[<>]' > "$work/differences"
if ! diff "$here/conformance.differences" "$work/differences"; then
    echo "FAIL: the fake answers otherwise than it did; see above, < expected, > now"
    exit 1
fi
echo "PASS: $(wc -l < "$work/answers") answers, $(wc -l < "$work/differences") differ, as expected"
