/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Tuning tables: at which sizes one path becomes better than another, by the class of the link
 * between the ranks and their number, as `symm_perf --tune` writes them. Pure; nothing here opens a
 * file.
 *
 * A table is lines of four words, "nvlink 2 one_shot_max 524288": link, ranks, setting, bytes.
 * Links are those of symm_link_t: host, same_gpu, nvlink, pcie; the worst between any two ranks
 * counts. A line holds for that many ranks and more, up to the next line's for the same link and
 * setting. "#" begins a comment, lines without a word mean nothing. The setting of host is
 * one_shot_max, those of the others are one_shot_max, copy_engine_min and kernel_max; docs in
 * coll_symm_policy.c, whose parameters have the same names. */
#ifndef COLL_SYMM_TUNING_H
#define COLL_SYMM_TUNING_H

#include "coll_symm_plan.h"

#define COLL_SYMM_TUNING_MAX 128 /* lines */

typedef enum coll_symm_setting {
    COLL_SYMM_ONE_SHOT_MAX,
    COLL_SYMM_COPY_ENGINE_MIN,
    COLL_SYMM_KERNEL_MAX,
} coll_symm_setting_t;

typedef struct coll_symm_tuning_line {
    symm_link_t link;
    int ranks;
    coll_symm_setting_t setting;
    uint64_t bytes;
} coll_symm_tuning_line_t;

typedef struct coll_symm_tuning {
    coll_symm_tuning_line_t lines[COLL_SYMM_TUNING_MAX];
    int count;
} coll_symm_tuning_t;

/* Reads a table from text. Returns true; or false with *tuning_p untouched and message [len] saying
 * which line is wrong, and what is wrong with which word. */
bool coll_symm_tuning_read(const char *text, coll_symm_tuning_t *tuning_p, char *message,
                           size_t len);

/* Sets what the table says for so many ranks, of all links; leaves alone what it does not. */
void coll_symm_tuning_apply(const coll_symm_tuning_t *tuning, int ranks,
                            coll_symm_policy_t *policy);

/* The table that holds when none is given; static text. */
const char *coll_symm_tuning_built_in(void);

#endif
