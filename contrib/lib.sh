# SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
# Shared by quickstart.sh and check.sh: packages and builds. Sourced, with symm_root set to the top
# of the source tree. POSIX shell.
# shellcheck shell=sh disable=SC2154

# Open MPI refuses to start as root without these, and says nothing of why it should as a user.
if test "$(id -u)" -eq 0; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

symm_say() {
    printf '%s\n' "== $*"
}

symm_die() {
    printf '%s\n' "$(basename "$0"): $*" >&2
    exit 1
}

symm_have() {
    command -v "$1" > /dev/null 2>&1
}

# Where to build: SYMM_BUILD_DIR, absolute, or build/ of the source tree.
symm_build_folder() {
    case ${SYMM_BUILD_DIR:-} in
        '') echo "$symm_root/build" ;;
        /*) echo "$SYMM_BUILD_DIR" ;;
        *) echo "$(pwd)/$SYMM_BUILD_DIR" ;;
    esac
}

symm_have_pc() {
    symm_have pkg-config && pkg-config --exists "$1"
}

symm_have_ompi_headers() {
    symm_have mpicc && symm_have ompi_info &&
        test -r "$(ompi_info --parsable --path pkgincludedir | sed -n 's/^path:pkgincludedir://p')/opal_config.h"
}

symm_have_autotools() {
    symm_have autoreconf && symm_have automake && symm_have libtoolize
}

# Whether configure is older than its sources. Later changes of these files are make's work.
symm_configure_is_old() {
    test -n "$(find "$symm_root/configure.ac" "$symm_root"/m4/symm_*.m4 -newer "$symm_root/configure")"
}

# Prints the packages without which nothing can be built. Asks for what a package brings, not for
# the package, so that an Open MPI or a tool from elsewhere will do.
symm_missing_packages() {
    { symm_have cc && symm_have make; } || echo build-essential
    if ! test -x "$symm_root/configure"; then
        symm_have autoreconf || echo autoconf
        symm_have automake || echo automake
        symm_have libtoolize || echo libtool
    fi
    symm_have_ompi_headers || echo libopenmpi-dev
    symm_have mpirun || echo openmpi-bin
}

# Prints the packages that add something.
symm_missing_extras() {
    symm_have pkg-config || echo pkg-config
    symm_have_pc hwloc || echo libhwloc-dev
    symm_have_pc cmocka || echo libcmocka-dev
    symm_have clang-format || echo clang-format
}

# symm_apt PACKAGE...: installs, as root or through sudo that asks no password; fails otherwise.
symm_apt() {
    symm_have apt-get || return 1
    if test "$(id -u)" -eq 0; then
        symm_sudo=
    elif symm_have sudo && sudo -n true 2> /dev/null; then
        symm_sudo="sudo -n"
    else
        return 1
    fi
    symm_say "installing $*"
    # The lists of a fresh machine are empty or old; update only if need be.
    $symm_sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$@" ||
        { $symm_sudo apt-get update -q -o Acquire::http::Timeout=30 &&
            $symm_sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$@"; }
}

# Installs what is missing. Stops with one message when it cannot and a build is impossible; goes on
# without the extras.
symm_install_missing() {
    symm_missing=$(symm_missing_packages | tr '\n' ' ')
    symm_extras=$(symm_missing_extras | tr '\n' ' ')
    test -n "$symm_missing$symm_extras" || return 0
    # Whether it could is seen from what is still missing.
    # shellcheck disable=SC2086  # lists of words
    symm_apt $symm_missing $symm_extras || :

    symm_missing=$(symm_missing_packages | tr '\n' ' ')
    symm_extras=$(symm_missing_extras | tr '\n' ' ')
    test -z "$symm_missing" ||
        symm_die "missing packages, to be installed as root: $symm_missing$symm_extras"
    test -z "$symm_extras" || symm_say "going on without these packages: $symm_extras"
}

# symm_build DIR [CONFIGURE-ARGUMENT...]: builds in DIR and does only what is needed. Returns
# non-zero, with the tool's own message printed, when a step fails.
symm_build() {
    symm_dir=$1
    shift
    if ! test -x "$symm_root/configure" || { symm_have_autotools && symm_configure_is_old; }; then
        symm_say "autogen.sh"
        "$symm_root/autogen.sh" > "$symm_root/autogen.log" 2>&1 ||
            { cat "$symm_root/autogen.log" >&2; return 1; }
    fi
    # A tree brought to a machine without the tools, its time stamps perhaps mixed up: what has been
    # generated must do.
    symm_have_autotools || set -- --disable-maintainer-mode "$@"
    mkdir -p "$symm_dir" || return 1
    # Configured before, with the same arguments and optional packages? Then make does the rest,
    # configure's own dependencies included.
    symm_wanted="$* / missing: $(symm_missing_extras | tr '\n' ' ')"
    if test "$(cat "$symm_dir/symm-configured" 2> /dev/null)" != "$symm_wanted"; then
        symm_say "configure $* (in $symm_dir)"
        rm -f "$symm_dir/symm-configured"
        (cd "$symm_dir" && "$symm_root/configure" "$@") || return 1
        # Objects and libtool's libraries remember other flags and another prefix.
        make -C "$symm_dir" -s clean || return 1
        printf '%s\n' "$symm_wanted" > "$symm_dir/symm-configured"
    fi
    symm_say "make (in $symm_dir)"
    make -C "$symm_dir" -j "$(nproc)" || return 1
}

# symm_plugin_path DIR: the value for OMPI_MCA_mca_base_component_path that finds DIR's modules.
symm_plugin_path() {
    echo "$1/osc_symm/.libs:$1/coll_symm/.libs:SYS_DEFAULT:USER_DEFAULT"
}
