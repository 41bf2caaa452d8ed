/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * coll_tuning.c with one wrong line behind good ones: the built-in table holds. */
#define NAME  "coll_tuning_wrong"
#define TABLE "host 2 one_shot_max 5000\nnvlink 2 one_shot_max 5000\nhost 2 two_shot_max 1\n"
#define TAKEN false
#include "coll_tuning.c"
