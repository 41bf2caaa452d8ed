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
#include <string.h>

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
        (const void *send, void *recv, size_t count, int datatype, comm_t comm, stream_t stream))  \
    SYMBOL(broadcast, "ncclBroadcast",                                                             \
           (const void *send, void *recv, size_t count, int datatype, int root, comm_t comm,       \
            stream_t stream))

/* Since 2.28; what is not there is not measured. */
#define OPTIONAL_LIST(SYMBOL)                                                                      \
    SYMBOL(                                                                                        \
        all_to_all, "ncclAlltoAll",                                                                \
        (const void *send, void *recv, size_t count, int datatype, comm_t comm, stream_t stream))  \
    SYMBOL(gather, "ncclGather",                                                                   \
           (const void *send, void *recv, size_t count, int datatype, int root, comm_t comm,       \
            stream_t stream))                                                                      \
    SYMBOL(scatter, "ncclScatter",                                                                 \
           (const void *send, void *recv, size_t count, int datatype, int root, comm_t comm,       \
            stream_t stream))

#define DECLARE(name, symbol, arguments) result_t(*name) arguments;
static struct {
    SYMBOL_LIST(DECLARE)
    OPTIONAL_LIST(DECLARE)
    const char *(*get_error_string)(result_t result);
} nccl;

#define DESCRIBE(name, symbol, arguments) {symbol, (void **) &nccl.name},
static const struct {
    const char *symbol;
    void **slot;
} symbols[] = {SYMBOL_LIST(DESCRIBE){"ncclGetErrorString", (void **) &nccl.get_error_string}},
  optional[] = {OPTIONAL_LIST(DESCRIBE)};

static char version_text[32];

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
    for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); ++i) {
        *optional[i].slot = dlsym(library, optional[i].symbol); /* NULL when it is not there */
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
    (void) snprintf(version_text, sizeof(version_text), "NCCL %d.%d.%d", version / 10000,
                    version % 10000 / 100, version % 100);
}

/* Opens the library. */
static bool open_library(char *reason)
{
    /* Multicast over NVLink is a matter of the machine's settings; off unless the user says so. */
    (void) setenv("NCCL_NVLS_ENABLE", "0", 0); /* fails only for want of a few bytes */
    bool loaded = perf_cuda_ready() ? load(reason) : perf_refuse(reason, "there is no GPU");
    if (!perf_agree(loaded, reason)) {
        return false;
    }
    note_version();
    return true;
}

/* Makes the contestant's communicator, its own: NCCL 2.28.9 ends broadcasts of some MiB between
 * plain buffers with an illegal access where others are registered on the same one. */
static bool make_comm(perf_series_t *self, char *reason)
{
    unique_id_t id = {{0}};
    bool got =
        0 != perf_world.rank || succeeded(nccl.get_unique_id(&id), "ncclGetUniqueId", reason);
    if (!perf_agree(got, reason)) {
        return false;
    }
    MPI_Bcast(&id, (int) sizeof(id), MPI_BYTE, 0, perf_world.comm);
    bool made =
        succeeded(nccl.comm_init_rank(&self->peer_comm, perf_world.size, id, perf_world.rank),
                  "ncclCommInitRank", reason);
    return perf_agree(made, reason); /* a half-made one is left alone: destroying it may hang */
}

static void end_comm(const perf_series_t *self)
{
    must(nccl.comm_destroy(self->peer_comm), "ncclCommDestroy");
}

/* Which of the operations this NCCL has. */
static unsigned served_ops(void)
{
    unsigned ops = PERF_REDUCTIONS | PERF_BIT(PERF_ALLGATHER) | PERF_BIT(PERF_BCAST);
    ops |= NULL != nccl.all_to_all ? PERF_BIT(PERF_ALLTOALL) : 0;
    ops |= NULL != nccl.gather ? PERF_BIT(PERF_GATHER) : 0;
    ops |= NULL != nccl.scatter ? PERF_BIT(PERF_SCATTER) : 0;
    return ops;
}

static result_t start_reduction(const perf_series_t *self, const perf_case_t *c)
{
    const char *input = c->in_place ? self->recv : self->send;
    size_t floats = c->bytes / sizeof(float);
    stream_t stream = perf_cuda_stream();
    switch (c->op) {
    case PERF_REDUCE:
        return nccl.reduce(input, self->recv, floats, FLOAT32, SUM, 0, self->peer_comm, stream);
    case PERF_REDUCE_SCATTER:
        return nccl.reduce_scatter(input, self->recv, floats, FLOAT32, SUM, self->peer_comm,
                                   stream);
    default:
        return nccl.all_reduce(input, self->recv, floats, FLOAT32, SUM, self->peer_comm, stream);
    }
}

static result_t start_movement(const perf_series_t *self, const perf_case_t *c)
{
    stream_t stream = perf_cuda_stream();
    char *own = self->recv + (size_t) perf_world.rank * c->bytes;
    char *other = 0 == perf_world.rank ? self->send : self->recv;
    size_t block = perf_case_bytes(c, perf_world.size) / (size_t) perf_world.size;
    switch (c->op) {
    case PERF_BCAST:
        return nccl.broadcast(self->send, other, c->bytes, INT8, 0, self->peer_comm, stream);
    case PERF_ALLTOALL:
        return nccl.all_to_all(self->send, self->recv, block, INT8, self->peer_comm, stream);
    case PERF_GATHER:
        return nccl.gather(self->send, self->recv, c->bytes, INT8, 0, self->peer_comm, stream);
    case PERF_SCATTER:
        return nccl.scatter(self->send, self->recv, c->bytes, INT8, 0, self->peer_comm, stream);
    default:
        return nccl.all_gather(c->in_place ? own : self->send, self->recv, c->bytes, INT8,
                               self->peer_comm, stream);
    }
}

static void nccl_call(perf_series_t *self, const perf_case_t *c)
{
    bool reduces = 0 != (PERF_BIT(c->op) & PERF_REDUCTIONS);
    must(reduces ? start_reduction(self, c) : start_movement(self, c), perf_op_name(c->op));
    perf_cuda_synchronize();
}

static void nccl_start(perf_series_t *self, const perf_case_t *c)
{
    must(start_movement(self, c), perf_op_name(c->op));
}

static bool nccl_test(perf_series_t *self)
{
    (void) self; /* the stream is common */
    return perf_cuda_idle();
}

static void nccl_wait(perf_series_t *self)
{
    (void) self;
    perf_cuda_synchronize();
}

static void plain_close(perf_series_t *self)
{
    perf_cuda_free(self->memory);
    end_comm(self);
}

static void symmetric_close(perf_series_t *self)
{
    must(nccl.window_deregister(self->peer_comm, self->memory2), "ncclCommWindowDeregister");
    must(nccl.memory_free(self->memory), "ncclMemFree");
    end_comm(self);
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
    done = succeeded(nccl.window_register(self->peer_comm, self->memory, len, &self->memory2,
                                          WIN_COLL_SYMMETRIC),
                     "ncclCommWindowRegister", reason);
    /* NCCL registers nothing, and says success, where it has no symmetric support. */
    if (done && NULL == self->memory2) {
        done = perf_refuse(reason, "NCCL did not register the memory as symmetric");
    }
    return perf_agree(done, reason);
}

/* NCCL's own setting: symmetric buffers are moved by copy engines where that can be. */
static const char *symmetric_name(void)
{
    const char *policy = getenv("NCCL_CTA_POLICY");
    return NULL != policy && 0 == strcmp("2", policy) ? "nccl_ce" : "nccl_symm";
}

bool perf_nccl_open(perf_series_t *self, bool symmetric, unsigned ops, size_t max_bytes,
                    char *reason)
{
    *self = (perf_series_t){
        .name = symmetric ? symmetric_name() : "nccl",
        .ops = ops & PERF_COLLECTIVES,
        .device = true,
        .call = nccl_call,
        .start = nccl_start,
        .test = nccl_test,
        .wait = nccl_wait,
        .close = symmetric ? symmetric_close : plain_close,
    };
    if (0 == self->ops) {
        return perf_refuse(reason, "it is for collectives");
    }
    if (!open_library(reason) || !make_comm(self, reason)) {
        return false;
    }
    self->ops &= served_ops();
    perf_layout_t layout = perf_case_layout(ops, max_bytes, perf_world.size);
    size_t len = layout.send_bytes + layout.recv_bytes;
    bool allocated =
        symmetric ? allocate_symmetric(self, len, reason) : allocate_plain(self, len, reason);
    if (!allocated) {
        end_comm(self); /* memory that some rank did get goes with the process */
        return false;
    }
    self->send = self->memory;
    self->recv = self->send + layout.send_bytes;
    perf_text(self->note, "%s, %s, call and cuStreamSynchronize", version_text,
              symmetric ? "buffers registered as symmetric windows" : "plain buffers");
    return true;
}

const char *perf_nccl_version(void)
{
    return '\0' == version_text[0] ? NULL : version_text;
}
