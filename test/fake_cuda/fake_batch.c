/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The kernel of batches, run unit by unit on the host. Whatever the real one takes for granted of
 * its pieces is checked. */
#include "symm_config.h"

#include "fake_kernel.h"

#include "fake_report.h"
#include "symm_batch.h"

static const fake_kernel_t kernels[] = {{SYMM_BATCH_KERNEL, &fake_family_batch, 0, 0}};

static CUresult check_batch(const void *bytes)
{
    const symm_batch_params_t *params = bytes;
    uint64_t carried = params->piece_count * (uint64_t) sizeof(symm_batch_piece_t);
    if (0 != params->reserved || 0 == params->units_per_block ||
        (NULL == params->pieces) != (NULL == params->data) ||
        (NULL == params->pieces && SYMM_BATCH_CARRIED < carried)) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "a batch of %u pieces, %u units to a block",
                           params->piece_count, params->units_per_block);
    }
    return CUDA_SUCCESS;
}

/* Whether a piece is one that the kernel's threads can move without a fault or a gap. */
static bool check_piece(const symm_batch_piece_t *piece, uint32_t first_unit)
{
    uint64_t pitches =
        1 < piece->rows ? (uint64_t) piece->dst_pitch | (uint64_t) piece->src_pitch : 0;
    bool inside = SYMM_BATCH_INSIDE == piece->src;
    uint64_t bits = piece->dst | (inside ? 0 : piece->src) | piece->len | pitches;
    bool cut = SYMM_BATCH_UNIT < piece->len;
    uint64_t shares = cut ? piece->len : piece->rows;
    uint64_t share = cut ? SYMM_BATCH_UNIT : piece->split;
    uint64_t units = 0 == share ? 0 : (shares + share - 1) / share * (cut ? piece->rows : 1);
    bool good =
        (!inside || (1 == piece->rows && SYMM_BATCH_INSIDE_MAX >= piece->len)) && 0 < piece->len &&
        0 < piece->rows && first_unit == piece->first_unit && units == piece->units &&
        0 < piece->width && 16 >= piece->width && 0 == (piece->width & (piece->width - 1)) &&
        0 == bits % piece->width &&
        (cut ? piece->split * piece->rows == units : piece->split * piece->len <= SYMM_BATCH_UNIT);
    if (!good) {
        (void) fake_misuse(CUDA_SUCCESS,
                           "a piece of %llu rows of %llu bytes, unit %u (%u expected), %u units in "
                           "%u, access of %u bytes",
                           (unsigned long long) piece->rows, (unsigned long long) piece->len,
                           piece->first_unit, first_unit, piece->units, piece->split, piece->width);
    }
    return good;
}

/* Where the first row of a side can be touched, all its rows being there. */
static char *touch_side(const fake_run_t *run, const char *what, const char *first,
                        const symm_rows_t *rows, ptrdiff_t pitch, bool write)
{
    ptrdiff_t last = (ptrdiff_t) (rows->rows - 1) * pitch;
    ptrdiff_t begin = 0 > last ? last : 0;
    size_t span = (size_t) (0 > last ? -last : last) + rows->len;
    char *bytes = fake_kernel_touch(run, what, 0, first + begin, span, write);
    return NULL == bytes ? NULL : bytes - begin;
}

static bool run_unit(const fake_run_t *run, const symm_batch_piece_t *piece, uint32_t unit,
                     const unsigned char *data, bool data_is_ours)
{
    symm_rows_t rows = symm_batch_unit(piece, unit);
    bool inside = SYMM_BATCH_INSIDE == piece->src;
    bool offset = SYMM_BATCH_DATA_MAX > piece->src;
    const char *src = offset ? (const char *) data + (uintptr_t) rows.src : rows.src;
    rows.dst = touch_side(run, "destination", rows.dst, &rows, rows.dst_pitch, true);
    rows.src = inside || (offset && data_is_ours)
                   ? src
                   : touch_side(run, "source", src, &rows, rows.src_pitch, false);
    if (NULL == rows.dst || NULL == rows.src) {
        return false;
    }
    symm_rows_copy_host(&rows);
    return true;
}

/* Whether all pieces are good; counts their units. */
static bool check_pieces(const symm_batch_piece_t *pieces, uint32_t count, uint32_t *units_p)
{
    *units_p = 0;
    for (uint32_t i = 0; i < count; ++i) {
        if (!check_piece(&pieces[i], *units_p)) {
            return false;
        }
        *units_p += pieces[i].units;
    }
    return true;
}

/* A GPU moves the pieces of a launch in any order: here the last goes first, so that whoever relies
 * on the order of their making is found. */
static bool run_pieces(const fake_run_t *run, const symm_batch_piece_t *pieces, uint32_t count,
                       const unsigned char *data, bool data_is_ours)
{
    for (uint32_t i = count; i-- > 0;) {
        for (uint32_t unit = 0; unit < pieces[i].units; ++unit) {
            if (!run_unit(run, &pieces[i], unit, data, data_is_ours)) {
                return false;
            }
        }
    }
    return true;
}

static bool run_batch(const fake_run_t *run)
{
    const symm_batch_params_t *params = (const symm_batch_params_t *) &run->launch->params;
    size_t len = params->piece_count * sizeof(symm_batch_piece_t);
    bool carried = NULL == params->pieces;
    const symm_batch_piece_t *pieces =
        carried ? (const void *) params->carried
                : fake_kernel_touch(run, "pieces", 0, params->pieces, len, false);
    if (NULL == pieces) {
        return false;
    }
    const unsigned char *data = carried ? params->carried + len : params->data;
    uint32_t units;
    if (!check_pieces(pieces, params->piece_count, &units) ||
        !run_pieces(run, pieces, params->piece_count, data, carried)) {
        return false;
    }
    uint64_t served = (uint64_t) run->launch->grid[0] * params->units_per_block;
    if (units != params->unit_count || served < units) {
        (void) fake_misuse(CUDA_SUCCESS, "%u units in a batch, told %u, served %llu", units,
                           params->unit_count, (unsigned long long) served);
    }
    return true;
}

const fake_family_t fake_family_batch = {
    .kernels = kernels,
    .count = sizeof(kernels) / sizeof(kernels[0]),
    .params_len = sizeof(symm_batch_params_t),
    .threads = SYMM_BATCH_THREADS,
    .tells = true,
    .check = check_batch,
    .run = run_batch,
};
