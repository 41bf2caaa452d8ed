#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
# Compares all C and CUDA sources with .clang-format. Exit status 0: as it should be; 77: skipped,
# with the reason; 1: some differ, with what differs.

cd "$(dirname "$0")/.." || exit 1

# Releases of clang-format disagree about the same file; this one is Debian 12's.
release=14
clang_format=
for tool in "clang-format-$release" clang-format; do
    if "$tool" --version 2> /dev/null | grep -q "version $release\."; then
        clang_format=$tool
        break
    fi
done
if test -z "$clang_format"; then
    echo "SKIP: no clang-format $release (other releases lay out differently)"
    exit 77
fi

# In git also what is not committed yet; in a tarball everything but build folders.
if git rev-parse --is-inside-work-tree > /dev/null 2>&1; then
    files=$(git ls-files --cached --others --exclude-standard -- '*.c' '*.h' '*.cu' '*.cuh')
else
    files=$(find . -path './build*' -prune -o \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) -print)
fi
# symm_config.h is generated where one builds in the source tree.
files=$(printf '%s\n' "$files" | grep -v 'symm_config\.h$')
if test -z "$files"; then
    echo "FAIL: no sources found"
    exit 1
fi

# One line a file: where it first differs and in how many places.
differ=0
for file in $files; do
    if ! places=$("$clang_format" --dry-run -Werror "$file" 2>&1); then
        first=$(printf '%s\n' "$places" | sed -n 's/^\([^ ]*\): error: .*/\1/p' | head -n 1)
        echo "$first differs, of $(printf '%s\n' "$places" | grep -c ': error: ') places in this file"
        differ=$((differ + 1))
    fi
done
if test "$differ" -eq 0; then
    echo "PASS: $(printf '%s\n' "$files" | wc -l) files are laid out as .clang-format says"
else
    echo "FAIL: $differ files; lay them out with: $clang_format -i FILE"
    exit 1
fi
