/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Resident kernels: their life, and giving them commands. */
#include "symm_config.h"

#include "symm_cuda_resident.h"

#include "symm_log.h"
#include "symm_resident.h"
#include "symm_spin.h"
#include "symm_stats.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

/* What host and kernel share, in mapped host memory. */
typedef struct shared {
    _Atomic uint64_t command[SYMM_RESIDENT_WORDS];
    _Atomic uint32_t ended; /* number of the latest life that has ended */
} shared_t;

struct symm_cuda_resident {
    symm_cuda_resident_t *next; /* of the device's */
    CUstream stream;
    shared_t *shared;
    CUdeviceptr shared_dev;
    _Atomic uint32_t life; /* number of the latest launch, 0 before the first */
    uint32_t given;        /* number of the latest command */
};

/* ---- making and freeing ---- */

static int create_shared(symm_cuda_resident_t *resident)
{
    void *shared;
    int rc = symm_cuda_check_log(
        SYMM_LOG_WARN,
        symm_cuda.cuMemHostAlloc(&shared, sizeof(shared_t),
                                 CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE),
        "cuMemHostAlloc for the resident kernel");
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    memset(shared, 0, sizeof(shared_t));
    resident->shared = shared;
    return symm_cuda_check_log(
        SYMM_LOG_WARN, symm_cuda.cuMemHostGetDevicePointer(&resident->shared_dev, shared, 0),
        "cuMemHostGetDevicePointer for the resident kernel");
}

static void free_parts(symm_cuda_resident_t *resident)
{
    if (NULL != resident->stream) {
        (void) symm_cuda_check_log(SYMM_LOG_WARN, symm_cuda.cuStreamDestroy(resident->stream),
                                   "cuStreamDestroy");
    }
    if (NULL != resident->shared) {
        (void) symm_cuda_check_log(SYMM_LOG_WARN, symm_cuda.cuMemFreeHost(resident->shared),
                                   "cuMemFreeHost");
    }
    free(resident);
}

/* NULL on failure, which is logged. In the context. */
static symm_cuda_resident_t *create(symm_device_t *device)
{
    symm_cuda_resident_t *resident = calloc(1, sizeof(*resident));
    if (NULL == resident) {
        return NULL;
    }
    int rc = symm_cuda_check_log(
        SYMM_LOG_WARN, symm_cuda.cuStreamCreate(&resident->stream, CU_STREAM_NON_BLOCKING),
        "cuStreamCreate for the resident kernel");
    if (MPI_SUCCESS == rc) {
        rc = create_shared(resident);
    }
    if (MPI_SUCCESS != rc) {
        free_parts(resident);
        return NULL;
    }
    (void) pthread_mutex_lock(&device->residents_lock); /* fails only on misuse */
    resident->next = device->residents;
    device->residents = resident;
    (void) pthread_mutex_unlock(&device->residents_lock);
    return resident;
}

static void unlink_from_device(symm_device_t *device, const symm_cuda_resident_t *resident)
{
    (void) pthread_mutex_lock(&device->residents_lock);
    symm_cuda_resident_t **link = &device->residents;
    while (*link != resident) {
        link = &(*link)->next;
    }
    *link = resident->next;
    (void) pthread_mutex_unlock(&device->residents_lock);
}

/* ---- life ---- */

/* Acquire pairs with the kernel's release: commands that it has done are told before. */
static bool has_ended(const symm_cuda_resident_t *resident, uint32_t life)
{
    uint32_t ended = atomic_load_explicit(&resident->shared->ended, memory_order_acquire);
    return 0 <= (int32_t) (ended - life);
}

/* Waits for the end of a life that has been told to end, by the kernel's word or by its stream. */
static void await_end(const symm_cuda_resident_t *resident, uint32_t life)
{
    int failed = 0;
    for (uint32_t looks = 1; !has_ended(resident, life) && SYMM_CUDA_QUERIES_MAX > failed;
         ++looks) {
        if (0 == looks % SYMM_CUDA_POLLS_PER_QUERY) {
            CUresult result = symm_cuda.cuStreamQuery(resident->stream);
            if (CUDA_SUCCESS == result) {
                return;
            }
            failed += CUDA_ERROR_NOT_READY == result ? 0 : 1;
        }
        symm_spin_relax();
    }
}

static void end_life(symm_cuda_resident_t *resident)
{
    uint32_t life = atomic_load(&resident->life);
    if (!has_ended(resident, life)) {
        atomic_store(&resident->shared->command[SYMM_RESIDENT_END], life);
        await_end(resident, life);
    }
}

static symm_resident_params_t make_params(const symm_queue_t *queue, uint32_t latest)
{
    const symm_cuda_resident_t *resident = queue->resident;
    uint64_t idle_ns = (uint64_t) symm_options.resident_idle_us * 1000;
    return (symm_resident_params_t){
        .done = symm_cuda_done(queue),
        .command = (uint64_t *) (uintptr_t) (resident->shared_dev + offsetof(shared_t, command)),
        .ended = (uint32_t *) (uintptr_t) (resident->shared_dev + offsetof(shared_t, ended)),
        .life = atomic_load(&resident->life),
        .latest = latest,
        .idle_ns = idle_ns,
        .lifetime_ns = idle_ns + SYMM_CUDA_RESIDENT_LIFETIME_US * UINT64_C(1000),
    };
}

/* Notes that no kernel is there, and that none is wanted any more. */
static void give_up(symm_queue_t *queue)
{
    symm_cuda_resident_t *resident = queue->resident;
    queue->resident_refused = true;
    if (NULL != resident) {
        atomic_store(&resident->shared->ended, atomic_load(&resident->life));
    }
}

/* Launches the kernel; in the context. latest is the number of a command that it takes for done.
 * After a failure nothing runs. */
static int launch(symm_queue_t *queue, uint32_t latest)
{
    static const char name[] = SYMM_RESIDENT_KERNEL;
    symm_cuda_resident_t *resident = queue->resident;
    symm_cuda_kernel_t kernel = {SYMM_FATBIN_RESIDENT, name, &queue->device->resident_kernel};
    CUfunction function;
    int rc = symm_cuda_get_kernel(queue->device, &kernel, &function);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    atomic_fetch_add(&resident->life, 1);
    symm_resident_params_t params = make_params(queue, latest);
    void *arguments[] = {&params};
    rc = symm_cuda_check_log(SYMM_LOG_WARN,
                             symm_cuda.cuLaunchKernel(function, 1, 1, 1, SYMM_RESIDENT_THREADS, 1,
                                                      1, 0, resident->stream, arguments, NULL),
                             "cuLaunchKernel of the resident kernel");
    SYMM_COUNT(resident_launches, 1);
    if (MPI_SUCCESS != rc) {
        end_life(resident); /* an error may come with a launch */
    }
    return rc;
}

/* The same from outside the context, making what is needed first. */
static int enter_and_launch(symm_queue_t *queue, uint32_t latest)
{
    symm_cuda_scope_t scope;
    int rc = symm_cuda_enter(queue->device, &scope);
    if (MPI_SUCCESS == rc) {
        queue->resident = NULL == queue->resident ? create(queue->device) : queue->resident;
        rc = NULL == queue->resident ? MPI_ERR_OTHER : launch(queue, latest);
        symm_cuda_leave(&scope);
    }
    if (MPI_SUCCESS != rc) {
        give_up(queue);
    }
    return rc;
}

void symm_cuda_resident_end(symm_queue_t *queue)
{
    if (NULL != queue->resident) {
        end_life(queue->resident);
    }
}

void symm_cuda_resident_stop_all(symm_device_t *device)
{
    (void) pthread_mutex_lock(&device->residents_lock);
    for (symm_cuda_resident_t *r = device->residents; NULL != r; r = r->next) {
        end_life(r);
    }
    (void) pthread_mutex_unlock(&device->residents_lock);
}

void symm_cuda_resident_destroy(symm_queue_t *queue)
{
    symm_cuda_resident_stop_all(queue->device);
    if (NULL != queue->resident) {
        unlink_from_device(queue->device, queue->resident);
        free_parts(queue->resident);
        queue->resident = NULL;
    }
}

/* ---- commands ---- */

/* Whether the kernel runs, as far as its word tells. */
static bool runs(const symm_cuda_resident_t *resident)
{
    return NULL != resident && !has_ended(resident, atomic_load(&resident->life));
}

/* Whether the stream, asked from time to time, says that no kernel is there. */
static bool is_gone(symm_queue_t *queue)
{
    return 0 == ++queue->looks % SYMM_CUDA_POLLS_PER_QUERY &&
           symm_cuda_stream_done(queue, queue->resident->stream);
}

/* Records why the command under way is over, unless it was done meanwhile. Returns whether it was
 * not. */
static bool lose(symm_queue_t *queue, int rc)
{
    if (symm_cuda_flag_written(queue)) {
        return false;
    }
    if (MPI_SUCCESS == queue->failure) {
        queue->failure = rc;
    }
    queue->out_of_step = true; /* the kernels' count lacks it */
    return true;
}

bool symm_cuda_resident_runs(const symm_queue_t *queue)
{
    return runs(queue->resident);
}

bool symm_cuda_resident_lost(symm_queue_t *queue)
{
    if (!runs(queue->resident)) {
        /* It may have done the command just before. */
        int rc = symm_cuda_flag_written(queue)
                     ? MPI_SUCCESS
                     : enter_and_launch(queue, queue->resident->given - 1);
        return MPI_SUCCESS != rc && lose(queue, rc);
    }
    if (!is_gone(queue) || !runs(queue->resident)) {
        return false;
    }
    if (MPI_SUCCESS == queue->failure) {
        symm_log(SYMM_LOG_ERROR, "the resident kernel ended on the GPU without telling so");
    }
    end_life(queue->resident); /* should the stream have been wrong */
    give_up(queue);
    return lose(queue, MPI_ERR_OTHER);
}

/* Makes sure that the kernel is there. MPI_ERR_UNSUPPORTED_OPERATION when it cannot be had. */
static int provide(symm_queue_t *queue)
{
    symm_cuda_resident_t *resident = queue->resident;
    if (runs(resident)) {
        return MPI_SUCCESS;
    }
    bool there = !queue->resident_refused &&
                 MPI_SUCCESS == enter_and_launch(queue, NULL == resident ? 0 : resident->given);
    return there ? MPI_SUCCESS : MPI_ERR_UNSUPPORTED_OPERATION;
}

/* Writes the command under the next number. Release, as what others have written to the buffers,
 * and told this host, comes before it; the order of the words does not matter. */
static void post(symm_queue_t *queue, const symm_resident_command_t *command)
{
    symm_cuda_resident_t *resident = queue->resident;
    uint32_t number = ++queue->flag_value;
    resident->given = number;
    queue->flag_pending = true;
    queue->resident_pending = true;
    for (uint32_t i = 0; i < command->words; ++i) {
        atomic_store_explicit(&resident->shared->command[i],
                              SYMM_RESIDENT_WORD(command->data[i], number), memory_order_release);
    }
    SYMM_COUNT(resident_commands, 1);
}

static int give(symm_queue_t *queue, const symm_resident_command_t *command)
{
    symm_cuda_queue_lock(queue);
    int rc = symm_cuda_queue_settle(queue);
    if (MPI_SUCCESS == rc) {
        rc = symm_cuda_queue_idle(queue) ? provide(queue) : MPI_ERR_UNSUPPORTED_OPERATION;
    }
    if (MPI_SUCCESS == rc) {
        post(queue, command);
    }
    symm_cuda_queue_unlock(queue);
    return rc;
}

int symm_cuda_reduce_resident(symm_queue_t *queue, const symm_reduce_t *reduce)
{
    symm_resident_command_t command;
    return 0 == symm_resident_reduce(reduce, &command) ? give(queue, &command)
                                                       : MPI_ERR_UNSUPPORTED_OPERATION;
}

int symm_cuda_copy_resident(symm_queue_t *queue, const symm_move_t *moves, uint32_t count)
{
    symm_resident_command_t command;
    return 0 == symm_resident_moves(moves, count, &command) ? give(queue, &command)
                                                            : MPI_ERR_UNSUPPORTED_OPERATION;
}
