/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * NCCL as a contestant: the library is opened at run time, the call is followed by a stream
 * synchronisation, as a blocking MPI call is done when it returns. Prototypes and values are those
 * of NCCL 2.28's public header. */
#include "symm_config.h"

#include "perf_cuda.h"
#include "perf_series.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int result_t;   /* ncclResult_t; 0 is success */
typedef void *comm_t;   /* ncclComm_t */
typedef void *window_t; /* ncclWindow_t */
typedef void *stream_t; /* cudaStream_t, which is CUstream */
typedef struct unique_id {
    char internal[128];
} unique_id_t;

enum { INT8 = 0, FLOAT32 = 7 }; /* ncclDataType_t */
enum { SUM = 0 };               /* ncclRedOp_t */
#define WIN_COLL_SYMMETRIC 1    /* NCCL_WIN_COLL_SYMMETRIC */

/* SYMBOL(name in this file, name in the library, arguments) */
#define SYMBOL_LIST(SYMBOL)                                                                        \
    SYMBOL(get_version, "ncclGetVersion", (int *version_p))                                        \
    SYMBOL(get_unique_id, "ncclGetUniqueId", (unique_id_t * id_p))                                 \
    SYMBOL(comm_init_rank, "ncclCommInitRank",                                                     \
           (comm_t * comm_p, int ranks, unique_id_t id, int rank))                                 \
    SYMBOL(comm_destroy, "ncclCommDestroy", (comm_t comm))                                         \
    SYMBOL(memory_allocate, "ncclMemAlloc", (void **memory_p, size_t len))                         \
    SYMBOL(memory_free, "ncclMemFree", (void *memory))                                             \
    SYMBOL(window_register, "ncclCommWindowRegister",                                              \
           (comm_t comm, void *memory, size_t len, window_t *window_p, int flags))                 \
    SYMBOL(window_deregister, "ncclCommWindowDeregister", (comm_t comm, window_t window))          \
    SYMBOL(all_reduce, "ncclAllReduce",                                                            \
           (const void *send, void *recv, size_t count, int datatype, int op, comm_t comm,         \
            stream_t stream))                                                                      \
    SYMBOL(reduce, "ncclReduce",                                                                   \
           (const void *send, void *recv, size_t count, int datatype, int op, int root,            \
            comm_t comm, stream_t stream))                                                         \
    SYMBOL(reduce_scatter, "ncclReduceScatter",                                                    \
           (const void *send, void *recv, size_t count, int datatype, int op, comm_t comm,         \
            stream_t stream))                                                                      \
    SYMBOL(                                                                                        \
        all_gather, "ncclAllGather",                                                               \
        (const void *send, void *recv, size_t count, int datatype, comm_t comm, stream_t stream))

#define DECLARE(name, symbol, arguments) result_t(*name) arguments;
static struct {
    SYMBOL_LIST(DECLARE)
    const char *(*get_error_string)(result_t result);
} nccl;

#define DESCRIBE(name, symbol, arguments) {symbol, (void **) &nccl.name},
static const struct {
    const char *symbol;
    void **slot;
} symbols[] = {SYMBOL_LIST(DESCRIBE){"ncclGetErrorString", (void **) &nccl.get_error_string}};

/* Shared by the two contestants. */
static struct {
    int users;
    comm_t comm;
    char version[32];
} shared;

static bool load(char *reason)
{
    const char *name = getenv("SYMM_NCCL_LIB");
    void *library = dlopen(NULL == name ? "libnccl.so.2" : name, RTLD_NOW | RTLD_LOCAL);
    if (NULL == library) {
        return perf_refuse(reason, "%s; SYMM_NCCL_LIB may name the library", dlerror());
    }
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); ++i) {
        *symbols[i].slot = dlsym(library, symbols[i].symbol);
        if (NULL == *symbols[i].slot) {
            return perf_refuse(reason, "NCCL has no %s; 2.27 or later is needed",
                               symbols[i].symbol);
        }
    }
    return true; /* stays open until the process ends: NCCL has threads */
}

static bool succeeded(result_t result, const char *call, char *reason)
{
    return 0 == result || perf_refuse(reason, "%s: %s", call, nccl.get_error_string(result));
}

static void must(result_t result, const char *call)
{
    if (0 != result) {
        perf_fatal("%s: %s", call, nccl.get_error_string(result));
    }
}

static void note_version(void)
{
    int version = 0;
    (void) nccl.get_version(&version); /* "0.0.0" says it */
    (void) snprintf(shared.version, sizeof(shared.version), "NCCL %d.%d.%d", version / 10000,
                    version % 10000 / 100, version % 100);
}

/* Makes the communicator, unless the other contestant has. */
static bool acquire(char *reason)
{
    unique_id_t id = {{0}};
    if (0 < shared.users) {
        ++shared.users;
        return true;
    }
    /* Multicast over NVLink is a matter of the machine's settings; off unless the user says so. */
    (void) setenv("NCCL_NVLS_ENABLE", "0", 0); /* fails only for want of a few bytes */
    bool loaded = perf_cuda_ready() ? load(reason) : perf_refuse(reason, "there is no GPU");
    if (!perf_agree(loaded, reason)) {
        return false;
    }
    note_version();
    bool got =
        0 != perf_world.rank || succeeded(nccl.get_unique_id(&id), "ncclGetUniqueId", reason);
    if (!perf_agree(got, reason)) {
        return false;
    }
    MPI_Bcast(&id, (int) sizeof(id), MPI_BYTE, 0, perf_world.comm);
    bool made = succeeded(nccl.comm_init_rank(&shared.comm, perf_world.size, id, perf_world.rank),
                          "ncclCommInitRank", reason);
    shared.users = perf_agree(made, reason) ? 1 : 0;
    return 0 < shared.users; /* a half-made communicator is left alone: destroying it may hang */
}

static void release(void)
{
    if (0 == --shared.users) {
        must(nccl.comm_destroy(shared.comm), "ncclCommDestroy");
    }
}

static void nccl_call(perf_series_t *self, const perf_case_t *c)
{
    const char *input = c->in_place ? self->recv : self->send;
    size_t floats = c->bytes / sizeof(float);
    stream_t stream = perf_cuda_stream();
    if (PERF_ALLREDUCE == c->op) {
        must(nccl.all_reduce(input, self->recv, floats, FLOAT32, SUM, shared.comm, stream),
             "ncclAllReduce");
    } else if (PERF_REDUCE == c->op) {
        must(nccl.reduce(input, self->recv, floats, FLOAT32, SUM, 0, shared.comm, stream),
             "ncclReduce");
    } else if (PERF_REDUCE_SCATTER == c->op) {
        must(nccl.reduce_scatter(input, self->recv, floats, FLOAT32, SUM, shared.comm, stream),
             "ncclReduceScatter");
    } else {
        char *own = self->recv + (size_t) perf_world.rank * c->bytes;
        must(nccl.all_gather(c->in_place ? own : self->send, self->recv, c->bytes, INT8,
                             shared.comm, stream),
             "ncclAllGather");
    }
    perf_cuda_synchronize();
}

static void plain_close(perf_series_t *self)
{
    perf_cuda_free(self->memory);
    release();
}

static void symmetric_close(perf_series_t *self)
{
    must(nccl.window_deregister(shared.comm, self->memory2), "ncclCommWindowDeregister");
    must(nccl.memory_free(self->memory), "ncclMemFree");
    release();
}

static bool allocate_plain(perf_series_t *self, size_t len, char *reason)
{
    self->memory = perf_cuda_allocate(len, reason);
    return perf_agree(NULL != self->memory, reason);
}

static bool allocate_symmetric(perf_series_t *self, size_t len, char *reason)
{
    bool done = succeeded(nccl.memory_allocate(&self->memory, len), "ncclMemAlloc", reason);
    if (!perf_agree(done, reason)) {
        return false;
    }
    done = succeeded(
        nccl.window_register(shared.comm, self->memory, len, &self->memory2, WIN_COLL_SYMMETRIC),
        "ncclCommWindowRegister", reason);
    /* NCCL registers nothing, and says success, where it has no symmetric support. */
    if (done && NULL == self->memory2) {
        done = perf_refuse(reason, "NCCL did not register the memory as symmetric");
    }
    return perf_agree(done, reason);
}

bool perf_nccl_open(perf_series_t *self, bool symmetric, unsigned ops, size_t max_bytes,
                    char *reason)
{
    *self = (perf_series_t){
        .name = symmetric ? "nccl_symm" : "nccl",
        .ops = ops & PERF_COLLECTIVES,
        .device = true,
        .call = nccl_call,
        .close = symmetric ? symmetric_close : plain_close,
    };
    if (0 == self->ops) {
        return perf_refuse(reason, "it is for collectives");
    }
    if (!acquire(reason)) {
        return false;
    }
    perf_layout_t layout = perf_case_layout(ops, max_bytes, perf_world.size);
    size_t len = layout.send_bytes + layout.recv_bytes;
    bool allocated =
        symmetric ? allocate_symmetric(self, len, reason) : allocate_plain(self, len, reason);
    if (!allocated) {
        release(); /* memory that some rank did get goes with the process */
        return false;
    }
    self->send = self->memory;
    self->recv = self->send + layout.send_bytes;
    perf_text(self->note, "%s, %s, call and cuStreamSynchronize", shared.version,
              symmetric ? "buffers registered as symmetric windows" : "plain buffers");
    return true;
}

const char *perf_nccl_version(void)
{
    return '\0' == shared.version[0] ? NULL : shared.version;
}
