# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
# What the scripts beside this one share: finding the components, running a program with a limit of
# time, and counting. Sourced by bash.
#
# Environment:
#   SYMM_SUITE_BUILDDIR    the build folder of symm, whose components are tested     [.]
#   SYMM_SUITE_OSC         value of --mca osc; "stock" for what Open MPI itself does [symm]
#   SYMM_SUITE_MPIRUN_ARGS further arguments of mpirun, split at blanks
#   SYMM_SUITE_MEMORY      "window": programs' memory is in a window, see run_mpich.sh
#   SYMM_SUITE_TIMEOUT     seconds for one test                                      [180]
#   SYMM_SUITE_ONLY        an extended regular expression of names; others are left out
#   MPIRUN                 mpirun                                                    [in PATH]

suite_builddir=$(cd "${SYMM_SUITE_BUILDDIR:-.}" && pwd)
suite_osc=${SYMM_SUITE_OSC:-symm}
suite_passed=0
suite_failed=0
suite_expected=0

fail()
{
    echo "FAIL: $*" >&2
    exit 2
}

# The source package $1 of the distribution, unpacked in folder $2; prints where. The lists of packages
# are a private copy with the sources switched on.
fetch_source()
{
    local package=$1 scratch=$2 apt=$2/apt found list
    found=$(find "$scratch" -maxdepth 1 -type d -name "$package-*" | sort | tail -n 1)
    if test -z "$found"; then
        mkdir -p "$apt/parts" "$apt/lists/partial"
        for list in /etc/apt/sources.list.d/*.sources; do
            test -f "$list" && sed 's/^Types:.*/Types: deb-src/' "$list" > "$apt/parts/${list##*/}"
        done
        test -f /etc/apt/sources.list &&
            sed -n 's/^deb /deb-src /p' /etc/apt/sources.list > "$apt/parts/main.list"
        set -- -q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/parts" \
            -o "Dir::State::lists=$apt/lists" -o APT::Sandbox::User=root
        { apt-get "$@" update && (cd "$scratch" && apt-get "$@" source "$package"); } >&2
        found=$(find "$scratch" -maxdepth 1 -type d -name "$package-*" | sort | tail -n 1)
    fi
    test -n "$found" || fail "no source package $package; unpack it yourself and name its folder"
    echo "$found"
}

# Lets Open MPI find the components, and fills the array suite_mpirun.
set_up_mpirun()
{
    local component folders=
    suite_mpirun=("${MPIRUN:-mpirun}" --oversubscribe --bind-to none)
    if test "$suite_osc" != "stock"; then
        for component in osc coll; do
            test -e "$suite_builddir/${component}_symm/.libs/mca_${component}_symm.so" ||
                fail "no mca_${component}_symm.so in $suite_builddir; build first, or set SYMM_SUITE_BUILDDIR"
            folders=$folders$suite_builddir/${component}_symm/.libs:
        done
        export OMPI_MCA_mca_base_component_path=${folders}SYS_DEFAULT
        suite_mpirun+=(--mca osc "$suite_osc")
    fi
    # shellcheck disable=SC2206  # split on purpose
    suite_mpirun+=($SYMM_SUITE_MPIRUN_ARGS)
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

# Kills what a test left running: whatever carries its tag in the environment, by process id.
reap()
{
    local environ pid
    for environ in /proc/[0-9]*/environ; do
        pid=${environ#/proc/}
        pid=${pid%/environ}
        if test "$pid" != "$$" &&
            tr '\0' '\n' 2> /dev/null < "$environ" | grep -qxF "SYMM_SUITE_TAG=$1"; then
            kill -KILL "$pid" 2> /dev/null
        fi
    done
}

# run_one NAME RANKS LOG COMMAND...: leaves the output in LOG. Returns the exit status, 124 when the time
# was up.
run_one()
{
    local name=$1 ranks=$2 log=$3 rc
    shift 3
    local tag=$name.$$.$RANDOM
    SYMM_SUITE_TAG=$tag timeout -k 5 "${SYMM_SUITE_TIMEOUT:-180}" "${suite_mpirun[@]}" \
        -x SYMM_SUITE_TAG -np "$ranks" "$@" > "$log" 2>&1 < /dev/null
    rc=$?
    test "$rc" -eq 0 || reap "$tag"
    test "$rc" -eq 137 && rc=124
    return "$rc"
}

# tell VERDICT NAME RANKS: counts a test and prints its line. EXPECTED is a failure whose cause lies
# outside the components.
tell()
{
    case $1 in
        PASS) suite_passed=$((suite_passed + 1)) ;;
        EXPECTED) suite_expected=$((suite_expected + 1)) ;;
        *) suite_failed=$((suite_failed + 1)) ;;
    esac
    echo "$1 $2 $3"
}

wanted()
{
    test -z "$SYMM_SUITE_ONLY" || printf '%s\n' "$1" | grep -qE "$SYMM_SUITE_ONLY"
}

finish()
{
    echo "$suite_passed passed, $suite_failed failed, $suite_expected failed as expected"
    test "$suite_failed" -eq 0 && test "$suite_passed" -gt 0
}
