#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
# From a fresh checkout to a running program: installs what is missing (as root, or where sudo asks
# no password), builds in build/ of the source tree and runs the demo with two ranks. Run again, it
# does only what is needed. Arguments go to configure; SYMM_BUILD_DIR names another build folder.

set -e
symm_root=$(cd "$(dirname "$0")/.." && pwd)
. "$symm_root/contrib/lib.sh"
build=$(symm_build_folder)

symm_install_missing
symm_build "$build" "$@" || symm_die "the build failed, see above"

OMPI_MCA_mca_base_component_path=$(symm_plugin_path "$build")
export OMPI_MCA_mca_base_component_path
symm_say "OMPI_MCA_mca_base_component_path=$OMPI_MCA_mca_base_component_path"
symm_say "mpirun -np 2 --oversubscribe --mca osc symm $build/contrib/symm_demo"
timeout -k 5 120 mpirun -np 2 --oversubscribe --mca osc symm "$build/contrib/symm_demo" ||
    symm_die "the demo failed"
symm_say "symm works. Tests: contrib/check.sh; installing: make -C $build install"
