/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Updates of host memory, of GPU memory, and of memory that is not mapped. */
#include "symm_config.h"

#include "osc_symm_update.h"

#include "symm_copy.h"
#include "symm_typemap.h"

#include <string.h>

/* Elements of host memory up to which atomics are faster than being alone. */
#define SIDE_BY_SIDE 8

/* Bytes of host memory updated between closing the gate and opening it, so that others get their
 * turn; what is fetched is still in the cache when it is updated. */
#define BLOCK_BYTES ((size_t) 64 << 10)

/* Bytes of a buffer for what the host cannot touch where it is. */
#define BOUNCE_BYTES ((size_t) 16 << 10)

/* Rows in that buffer, where the target's memory is not mapped. */
#define REMOTE_ROWS 64

static symm_window_control_t *control_of(const osc_symm_updates_t *updates)
{
    return updates->module->window->mapping->control;
}

/* ---- the gate ---- */

static void close_gate(osc_symm_updates_t *updates)
{
    if (!updates->closed) {
        symm_window_control_close(control_of(updates), updates->module->window->size,
                                  updates->place.target);
        updates->closed = true;
    }
}

static void open_gate(osc_symm_updates_t *updates)
{
    symm_gate_open(&control_of(updates)->peers[updates->place.target].update);
    updates->closed = false;
}

static bool is_aligned(const osc_symm_element_t *element, const osc_symm_rows_t *rows)
{
    return 0 == (uintptr_t) rows->target % element->size &&
           (1 == rows->rows || 0 == rows->target_pitch % (ptrdiff_t) element->size);
}

static symm_atomic_t atomic_of(const osc_symm_element_t *element, const osc_symm_rows_t *rows)
{
    return (symm_atomic_t){.op = element->op,
                           .dtype = element->dtype,
                           .count = rows->count,
                           .rows = rows->rows,
                           .target = rows->target,
                           .origin = rows->origin,
                           .result = rows->result,
                           .target_pitch = rows->target_pitch,
                           .origin_pitch = rows->origin_pitch,
                           .result_pitch = rows->result_pitch};
}

/* Bytes from the first element of a row to the end of the last one's data. */
static size_t span_of(const osc_symm_element_t *element, uint64_t count)
{
    return (count - 1) * element->size + element->span;
}

/* ---- without atomics ---- */

/* Starts copying elements, without what lies between their data. target says which end that is. */
static int copy_elements(const osc_symm_updates_t *updates, void *dst, const void *src,
                         uint64_t count, symm_known_t target)
{
    const symm_typemap_t *map;
    symm_typewalk_t walk;
    if (!updates->element->gaps) {
        return updates->ops->transfer(updates->queue, dst, src, count * updates->element->size,
                                      target);
    }
    int rc = symm_typemap_get(updates->element->datatype, &map);
    if (MPI_SUCCESS == rc) {
        symm_typewalk_init(&walk, SYMM_VIEW_BYTES, map, count, map, count);
        rc = updates->ops->move(updates->queue, dst, src, &walk, target);
    }
    return rc;
}

/* Starts updating a row behind the closed gate. */
static int update_alone(const osc_symm_updates_t *updates, char *target, const char *origin,
                        char *result, uint64_t count)
{
    const osc_symm_element_t *element = updates->element;
    int rc = NULL == result ? MPI_SUCCESS
                            : copy_elements(updates, result, target, count, SYMM_KNOWN_SRC);
    if (MPI_SUCCESS != rc || SYMM_ATOMIC_NO_OP == element->op) {
        return rc;
    }
    if (SYMM_ATOMIC_REPLACE == element->op) {
        /* Transfers that are gathered have no order among themselves. */
        rc = NULL == result ? MPI_SUCCESS : updates->ops->queue_wait(updates->queue);
        return MPI_SUCCESS == rc ? copy_elements(updates, target, origin, count, SYMM_KNOWN_DST)
                                 : rc;
    }
    return updates->ops->combine(updates->queue, (symm_op_t) element->op, element->dtype, target,
                                 origin, updates->origin, count);
}

/* ---- host memory ---- */

/* Updates a row beside others, by atomics. Returns whether it could be done so. */
static inline bool update_beside(const ompi_osc_symm_module_t *module, int target,
                                 const osc_symm_element_t *element, const symm_atomic_t *row)
{
    const symm_window_t *window = module->window;
    symm_window_control_t *control = window->mapping->control;
    _Atomic uint32_t *inside =
        symm_window_control_inside(control, window->size, window->rank, target);
    if (!symm_gate_pass(&control->peers[target].update, inside)) {
        return false;
    }
    element->update(row);
    symm_gate_leave(inside, opal_using_threads());
    return true;
}

/* Whether a row is for update_beside(). */
static inline bool goes_beside(const osc_symm_element_t *element, const osc_symm_place_t *place,
                               const void *target, uint64_t count)
{
    return SIDE_BY_SIDE >= count && element->atomic && !place->locked &&
           0 == ((uintptr_t) target & (element->size - 1));
}

/* Updates a row whose origin and result the host can touch. */
static int update_host_row(osc_symm_updates_t *updates, const osc_symm_rows_t *row)
{
    const osc_symm_element_t *element = updates->element;
    int rc = MPI_SUCCESS;
    if (goes_beside(element, &updates->place, row->target, row->count)) {
        symm_atomic_t atomic = atomic_of(element, row);
        if (update_beside(updates->module, updates->place.target, element, &atomic)) {
            return MPI_SUCCESS;
        }
    }
    uint64_t step = 1 + BLOCK_BYTES / element->size;
    for (uint64_t done = 0; MPI_SUCCESS == rc && done < row->count; done += step) {
        size_t at = done * element->size;
        close_gate(updates);
        rc = update_alone(updates, row->target + at, NULL == row->origin ? NULL : row->origin + at,
                          NULL == row->result ? NULL : row->result + at,
                          row->count - done < step ? row->count - done : step);
        open_gate(updates);
    }
    return rc;
}

/* Updates rows of memory that is not mapped, at most REMOTE_ROWS that fit the buffer together:
 * reads, combines, writes. */
static int update_remote_rows(osc_symm_updates_t *updates, const osc_symm_rows_t *rows)
{
    _Alignas(64) char buffer[BOUNCE_BYTES];
    const ompi_osc_symm_module_t *module = updates->module;
    const osc_symm_element_t *element = updates->element;
    size_t len = span_of(element, rows->count);
    size_t pitch = element->size * rows->count; /* keeps rows aligned */
    struct iovec local[REMOTE_ROWS], remote[REMOTE_ROWS];
    for (uint64_t r = 0; r < rows->rows; ++r) {
        local[r] = (struct iovec){buffer + r * pitch, len};
        remote[r] = (struct iovec){rows->target + (ptrdiff_t) r * rows->target_pitch, len};
    }
    close_gate(updates);
    int rc =
        ompi_osc_symm_remote_read(module, &updates->place, local, rows->rows, remote, rows->rows);
    for (uint64_t r = 0; MPI_SUCCESS == rc && r < rows->rows; ++r) {
        ptrdiff_t n = (ptrdiff_t) r;
        rc = update_alone(updates, buffer + r * pitch,
                          NULL == rows->origin ? NULL : rows->origin + n * rows->origin_pitch,
                          NULL == rows->result ? NULL : rows->result + n * rows->result_pitch,
                          rows->count);
    }
    if (MPI_SUCCESS == rc && SYMM_ATOMIC_NO_OP != element->op) {
        rc = ompi_osc_symm_remote_write(module, &updates->place, local, rows->rows, remote,
                                        rows->rows);
    }
    open_gate(updates);
    return rc;
}

/* Updates a row that fits the buffers, through which origins and results on a GPU go. */
static int update_bounced_row(osc_symm_updates_t *updates, const osc_symm_rows_t *row)
{
    _Alignas(64) char origin[BOUNCE_BYTES];
    _Alignas(64) char result[BOUNCE_BYTES];
    size_t len = span_of(updates->element, row->count);
    osc_symm_rows_t bounced = *row;
    int rc = MPI_SUCCESS;
    if (NULL != row->origin && SYMM_REACH_HOST != updates->origin) {
        bounced.origin = origin;
        rc = symm_copy_blocking(origin, row->origin, len);
    }
    if (NULL != row->result && SYMM_REACH_HOST != updates->result) {
        bounced.result = result;
    }
    if (MPI_SUCCESS == rc) {
        rc = OSC_SYMM_REACH_MAPPED == updates->place.reach ? update_host_row(updates, &bounced)
                                                           : update_remote_rows(updates, &bounced);
    }
    if (MPI_SUCCESS == rc && row->result != bounced.result) {
        rc = symm_copy_blocking(row->result, result, len);
    }
    return rc;
}

/* Updates rows of memory that is not mapped, many at a time. */
static int update_remote(osc_symm_updates_t *updates, const osc_symm_rows_t *rows)
{
    uint64_t most = BOUNCE_BYTES / (updates->element->size * rows->count);
    most = most < REMOTE_ROWS ? most : REMOTE_ROWS;
    int rc = MPI_SUCCESS;
    for (uint64_t r = 0; MPI_SUCCESS == rc && r < rows->rows; r += most) {
        ptrdiff_t n = (ptrdiff_t) r;
        osc_symm_rows_t some = *rows;
        some.rows = rows->rows - r < most ? rows->rows - r : most;
        some.target = rows->target + n * rows->target_pitch;
        some.origin = NULL == rows->origin ? NULL : rows->origin + n * rows->origin_pitch;
        some.result = NULL == rows->result ? NULL : rows->result + n * rows->result_pitch;
        rc = update_remote_rows(updates, &some);
    }
    return rc;
}

static int update_host(osc_symm_updates_t *updates, const osc_symm_rows_t *rows)
{
    bool mapped = OSC_SYMM_REACH_MAPPED == updates->place.reach;
    bool touched = (NULL == rows->origin || SYMM_REACH_HOST == updates->origin) &&
                   (NULL == rows->result || SYMM_REACH_HOST == updates->result);
    bool direct = mapped && touched;
    size_t size = updates->element->size;
    if (!mapped && touched && BOUNCE_BYTES >= size * rows->count) {
        return update_remote(updates, rows);
    }
    uint64_t step = direct ? rows->count : BOUNCE_BYTES / size;
    int rc = MPI_SUCCESS;
    for (uint64_t r = 0; MPI_SUCCESS == rc && r < rows->rows; ++r) {
        ptrdiff_t n = (ptrdiff_t) r;
        for (uint64_t done = 0; MPI_SUCCESS == rc && done < rows->count; done += step) {
            size_t at = done * size;
            osc_symm_rows_t row = {.target = rows->target + n * rows->target_pitch + at, .rows = 1};
            row.count = rows->count - done < step ? rows->count - done : step;
            row.origin = NULL == rows->origin ? NULL : rows->origin + n * rows->origin_pitch + at;
            row.result = NULL == rows->result ? NULL : rows->result + n * rows->result_pitch + at;
            rc = direct ? update_host_row(updates, &row) : update_bounced_row(updates, &row);
        }
    }
    return rc;
}

/* ---- GPU memory ---- */

static int update_device(osc_symm_updates_t *updates, const osc_symm_rows_t *rows, bool last)
{
    const ompi_osc_symm_module_t *module = updates->module;
    if (updates->element->atomic && !updates->place.locked && is_aligned(updates->element, rows)) {
        symm_update_t update = {.atomic = atomic_of(updates->element, rows),
                                .origin = updates->origin,
                                .result = updates->result,
                                .ordered = ompi_osc_symm_keeps_order(module),
                                .first = updates->first,
                                .last = last};
        return updates->ops->atomic(updates->queue, &update);
    }
    int rc = MPI_SUCCESS;
    close_gate(updates);
    for (uint64_t r = 0; MPI_SUCCESS == rc && r < rows->rows; ++r) {
        ptrdiff_t n = (ptrdiff_t) r;
        rc = update_alone(updates, rows->target + n * rows->target_pitch,
                          NULL == rows->origin ? NULL : rows->origin + n * rows->origin_pitch,
                          NULL == rows->result ? NULL : rows->result + n * rows->result_pitch,
                          rows->count);
    }
    return rc;
}

/* ---- a call ---- */

/* Finds out what the targets are updated by. */
static void find_ops(osc_symm_updates_t *updates)
{
    const ompi_osc_symm_module_t *module = updates->module;
    const osc_symm_place_t *place = &updates->place;
    updates->on_host = SYMM_KIND_SYSTEM == place->kind || OSC_SYMM_REACH_MAPPED != place->reach;
    updates->ops = updates->on_host ? symm_device_ops(SYMM_KIND_SYSTEM) : module->ops;
    updates->queue = updates->on_host ? NULL : module->queue; /* the host has none */
}

/* How the window's queue gets at memory of the program's. */
static symm_reach_t find_reach(const ompi_osc_symm_module_t *module, const void *ptr)
{
    if (NULL == ptr || SYMM_POINTER_HOST == symm_pointer_kind(ptr)) {
        return SYMM_REACH_HOST;
    }
    const symm_window_t *window = symm_window_find(ptr, 0);
    bool reached = NULL != window ? window->mapping->device == module->device
                                  : module->ops->reaches(module->device, ptr);
    return SYMM_KIND_CUDA_DEVICE == module->ops->kind && reached ? SYMM_REACH_KERNEL
                                                                 : SYMM_REACH_COPY;
}

void ompi_osc_symm_updates_begin(osc_symm_updates_t *updates, const void *origin,
                                 const void *result)
{
    updates->first = true;
    updates->closed = false;
    updates->origin = find_reach(updates->module, origin);
    updates->result = find_reach(updates->module, result);
}

int ompi_osc_symm_updates_apply(osc_symm_updates_t *updates, const osc_symm_rows_t *rows, bool last)
{
    find_ops(updates);
    int rc = updates->on_host ? update_host(updates, rows) : update_device(updates, rows, last);
    updates->first = false;
    return rc;
}

int ompi_osc_symm_updates_end(osc_symm_updates_t *updates, int rc)
{
    if (updates->closed) {
        const ompi_osc_symm_module_t *module = updates->module;
        int waited = module->ops->queue_wait(module->queue);
        open_gate(updates);
        rc = MPI_SUCCESS == rc ? waited : rc;
    }
    return rc;
}

/* Whether the host can touch all sides where they are. */
static inline bool host_touches(const osc_symm_place_t *place, const void *origin,
                                const void *result)
{
    return SYMM_KIND_SYSTEM == place->kind && OSC_SYMM_REACH_MAPPED == place->reach &&
           SYMM_POINTER_HOST == symm_pointer_kind(origin) &&
           SYMM_POINTER_HOST == symm_pointer_kind(result);
}

/* The straight way for host memory: nothing to find out, no rows. Elements have no gaps. */
static int update_host_run(const ompi_osc_symm_module_t *module, const osc_symm_element_t *element,
                           const osc_symm_place_t *place, const char *origin, char *result,
                           uint64_t count)
{
    const symm_window_t *window = module->window;
    symm_window_control_t *control = window->mapping->control;
    uint64_t step = 1 + BLOCK_BYTES / element->size;
    int rc = MPI_SUCCESS;
    for (uint64_t done = 0; MPI_SUCCESS == rc && done < count; done += step) {
        size_t at = done * element->size;
        uint64_t now = count - done < step ? count - done : step;
        char *target = place->address + at;
        symm_window_control_close(control, window->size, place->target);
        if (NULL != result) {
            memcpy(result + at, target, now * element->size);
        }
        if (SYMM_ATOMIC_REPLACE == element->op) {
            memcpy(target, origin + at, now * element->size);
        } else if (SYMM_ATOMIC_NO_OP != element->op) {
            rc = symm_device_ops(SYMM_KIND_SYSTEM)
                     ->combine(NULL, (symm_op_t) element->op, element->dtype, target, origin + at,
                               SYMM_REACH_HOST, now);
        }
        symm_gate_open(&control->peers[place->target].update);
    }
    return rc;
}

int ompi_osc_symm_update_run(ompi_osc_symm_module_t *module, const osc_symm_element_t *element,
                             const osc_symm_place_t *place, const void *origin, void *result,
                             uint64_t count)
{
    if (!element->gaps && host_touches(place, origin, result)) {
        symm_atomic_t row = {
            .count = count, .target = place->address, .origin = origin, .result = result};
        bool done = goes_beside(element, place, place->address, count) &&
                    update_beside(module, place->target, element, &row);
        return done ? MPI_SUCCESS : update_host_run(module, element, place, origin, result, count);
    }
    osc_symm_updates_t updates = {.module = module, .element = element, .place = *place};
    osc_symm_rows_t rows = {
        .target = place->address, .origin = origin, .result = result, .count = count, .rows = 1};
    ompi_osc_symm_updates_begin(&updates, origin, result);
    return ompi_osc_symm_updates_end(&updates, ompi_osc_symm_updates_apply(&updates, &rows, true));
}

/* ---- compare and swap ---- */

/* Reads or writes an element of any memory at the target; done when it returns. */
static int transfer_element(const osc_symm_updates_t *updates, char *target, void *value,
                            bool write)
{
    struct iovec local = {value, updates->element->size};
    struct iovec remote = {target, updates->element->size};
    if (OSC_SYMM_REACH_MAPPED == updates->place.reach) {
        return symm_copy_blocking(write ? target : value, write ? value : target, local.iov_len);
    }
    return write
               ? ompi_osc_symm_remote_write(updates->module, &updates->place, &local, 1, &remote, 1)
               : ompi_osc_symm_remote_read(updates->module, &updates->place, &local, 1, &remote, 1);
}

/* Behind the closed gate, when everything before it is done. */
static int cas_alone(osc_symm_updates_t *updates, char *target, uint64_t *origin,
                     const uint64_t *compare, uint64_t *old)
{
    const ompi_osc_symm_module_t *module = updates->module;
    close_gate(updates);
    int rc = module->ops->queue_wait(module->queue);
    if (MPI_SUCCESS == rc) {
        rc = transfer_element(updates, target, old, false);
    }
    if (MPI_SUCCESS == rc && 0 == memcmp(old, compare, updates->element->size)) {
        rc = transfer_element(updates, target, origin, true);
    }
    return ompi_osc_symm_updates_end(updates, rc);
}

/* By the window's queue, if its atomics can do it. */
static int cas_queued(const osc_symm_updates_t *updates, char *target, const uint64_t *origin,
                      const uint64_t *compare, void *result)
{
    const ompi_osc_symm_module_t *module = updates->module;
    osc_symm_rows_t rows = {
        .target = target, .origin = (const char *) origin, .result = result, .count = 1, .rows = 1};
    symm_update_t update = {.atomic = atomic_of(updates->element, &rows),
                            .origin = SYMM_REACH_HOST,
                            .result = updates->result,
                            .ordered = ompi_osc_symm_keeps_order(module),
                            .first = true,
                            .last = true};
    update.atomic.compare = compare;
    return updates->ops->atomic(updates->queue, &update);
}

/* Reads an element of any memory. */
static inline int read_value(uint64_t *value_p, const void *from, size_t size)
{
    if (SYMM_POINTER_HOST != symm_pointer_kind(from)) {
        return symm_copy_blocking(value_p, from, size);
    }
    memcpy(value_p, from, size);
    return MPI_SUCCESS;
}

static inline int write_value(void *to, const uint64_t *value, size_t size)
{
    if (SYMM_POINTER_HOST != symm_pointer_kind(to)) {
        return symm_copy_blocking(to, value, size);
    }
    memcpy(to, value, size);
    return MPI_SUCCESS;
}

int ompi_osc_symm_update_cas(ompi_osc_symm_module_t *module, const osc_symm_element_t *element,
                             const osc_symm_place_t *place, const void *origin, const void *compare,
                             void *result)
{
    osc_symm_updates_t updates = {.module = module, .element = element, .place = *place};
    uint64_t next = 0, expected = 0, old = 0;
    bool atomic = goes_beside(element, place, place->address, 1);
    int rc = read_value(&next, origin, element->size);
    if (MPI_SUCCESS == rc) {
        rc = read_value(&expected, compare, element->size);
    }
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    find_ops(&updates);
    if (atomic && !updates.on_host) {
        updates.result = find_reach(module, result);
        return cas_queued(&updates, place->address, &next, &expected, result);
    }
    symm_atomic_t row = {.count = 1,
                         .target = place->address,
                         .origin = &next,
                         .compare = &expected,
                         .result = &old};
    if (!atomic || !update_beside(module, place->target, element, &row)) {
        rc = cas_alone(&updates, place->address, &next, &expected, &old);
    }
    return MPI_SUCCESS == rc ? write_value(result, &old, element->size) : rc;
}
