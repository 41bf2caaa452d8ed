/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * MPI_Allgather with window memory at one end at least: all sizes and alignments, in place and not,
 * to and from memory of every kind, and call after call. */
#include "symm_config.h"

#include "mpi_test.h"

#include <stdlib.h>

#define PAYLOAD_BYTES 1024 /* most bytes that travel in a slot, host memory only */

static mt_win_t window;
static mt_win_t other_window; /* of host memory */
static uint64_t round_number;
static size_t largest; /* bytes of one rank's contribution */
static size_t area;    /* bytes of the window for an output, and again for an input */

typedef enum place {
    PLACE_HOST,
    PLACE_PINNED,
    PLACE_DEVICE,
    PLACE_WINDOW,
    PLACE_OTHER_WINDOW,
    PLACE_COUNT,
} place_t;

static const char *const place_names[PLACE_COUNT] = {
    "host memory", "pinned memory", "device memory", "the window", "a window of host memory"};

static char *buffers[MT_MEMORY_COUNT];

static bool has_place(place_t place)
{
    return PLACE_WINDOW <= place || mt_has_memory((mt_memory_t) place);
}

/* Two areas in each place: the first for outputs, the second for inputs. */
static char *buffer_in(place_t place, bool input)
{
    char *start;
    if (PLACE_WINDOW == place) {
        start = window.base;
    } else if (PLACE_OTHER_WINDOW == place) {
        start = other_window.base;
    } else {
        if (NULL == buffers[place]) {
            buffers[place] = mt_alloc((mt_memory_t) place, 2 * area);
        }
        start = buffers[place];
    }
    return start + (input ? area : 0) + MT_GUARD;
}

typedef struct call {
    place_t from, to;
    size_t bytes; /* of a contribution */
    size_t send_at, recv_at;
    bool in_place;
    /* How the bytes are described; MPI_BYTE and their number when the type is null. */
    MPI_Datatype send_type, recv_type;
    int send_count, recv_count;
} call_t;

static bool is_device(place_t place)
{
    return PLACE_DEVICE == place || (PLACE_WINDOW == place && SYMM_KIND_CUDA_DEVICE == mt_kind);
}

static bool is_host_only(const call_t *c)
{
    return !is_device(c->to) && (c->in_place || !is_device(c->from));
}

static bool is_served(const call_t *c)
{
    if (1 == mt_size || is_host_only(c)) {
        return true;
    }
    return SYMM_KIND_CUDA_DEVICE == mt_kind && (PLACE_WINDOW == c->to || PLACE_WINDOW == c->from);
}

/* Between windows of both kinds, and from or to a GPU beside windows of host memory, either plan is
 * right. */
static bool is_open(const call_t *c)
{
    return SYMM_KIND_CUDA_DEVICE == mt_kind ? PLACE_OTHER_WINDOW == c->to : !is_host_only(c);
}

static const char *family_of(const call_t *c)
{
    if (1 == mt_size) {
        return "local_copy";
    }
    return is_host_only(c) && PAYLOAD_BYTES >= c->bytes ? "low_latency" : "copy_";
}

static void check_outputs(const char *recv, size_t bytes, uint64_t round)
{
    for (int r = 0; r < mt_size; ++r) {
        CHECK_PATTERN(recv + (size_t) r * bytes, bytes, mt_seed(r, round));
    }
    CHECK_POISON(recv - MT_GUARD, MT_GUARD);
    CHECK_POISON(recv + (size_t) mt_size * bytes, MT_GUARD);
}

static void check_call(const call_t *c)
{
    char *recv = buffer_in(c->to, false) + c->recv_at;
    char *send =
        c->in_place ? recv + (size_t) mt_rank * c->bytes : buffer_in(c->from, true) + c->send_at;
    bool plain = MPI_DATATYPE_NULL == c->recv_type;
    uint64_t round = ++round_number;
    mt_context("%zu B from %s at %zu to %s at %zu%s", c->bytes, place_names[c->from], c->send_at,
               place_names[c->to], c->recv_at, c->in_place ? ", in place" : "");
    mt_poison(recv - MT_GUARD, (size_t) mt_size * c->bytes + 2 * MT_GUARD);
    mt_fill(send, c->bytes, mt_seed(mt_rank, round));
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Allgather(c->in_place ? MPI_IN_PLACE : send,
                           plain ? (int) c->bytes : c->send_count, plain ? MPI_BYTE : c->send_type,
                           recv, plain ? (int) c->bytes : c->recv_count,
                           plain ? MPI_BYTE : c->recv_type, MPI_COMM_WORLD));
    if (0 < c->bytes && !is_open(c)) {
        CHECK(is_served(c) ? CHECK_SERVED(&before, family_of(c)) : CHECK_PASSED(&before));
    }
    check_outputs(recv, c->bytes, round);
    CHECK_PATTERN(send, c->bytes, mt_seed(mt_rank, round));
}

static call_t plain_call(place_t from, place_t to, size_t bytes)
{
    return (call_t){.from = from,
                    .to = to,
                    .bytes = bytes,
                    .send_type = MPI_DATATYPE_NULL,
                    .recv_type = MPI_DATATYPE_NULL};
}

/* ---- the tests ---- */

static void every_size_in_place_and_not(void)
{
    const size_t sizes[] = {0,    1,    2,    7,    64,    1000,    1023,
                            1024, 1025, 4095, 4096, 65537, largest, (1 << 20) - 1};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        call_t c = plain_call(PLACE_WINDOW, PLACE_WINDOW, sizes[i]);
        check_call(&c);
        c.in_place = true;
        check_call(&c);
    }
}

static void every_alignment(void)
{
    static const size_t sizes[] = {33, 1111, 5000};
    for (int i = 0; i < 3; ++i) {
        for (size_t send_at = 0; send_at < 32; send_at += 2 >= mt_size ? 1 : 5) {
            for (size_t recv_at = 0; recv_at < 32; recv_at += 2 >= mt_size ? 3 : 7) {
                call_t c = plain_call(PLACE_WINDOW, PLACE_WINDOW, sizes[i]);
                c.send_at = send_at;
                c.recv_at = recv_at;
                c.in_place = send_at == recv_at;
                check_call(&c);
            }
        }
    }
}

static const size_t few_sizes[] = {5, 1024, 3000, 100001};

static void into_the_window_from_everywhere(void)
{
    for (int from = 0; from < PLACE_COUNT; ++from) {
        if (!has_place((place_t) from)) {
            mt_note("%s left out, there is no GPU", place_names[from]);
            continue;
        }
        for (int i = 0; i < 4; ++i) {
            call_t c = plain_call((place_t) from, PLACE_WINDOW, few_sizes[i]);
            c.send_at = (size_t) i;
            check_call(&c);
        }
    }
}

static void from_the_window_to_everywhere(void)
{
    for (int to = 0; to < PLACE_COUNT; ++to) {
        for (int i = 0; i < 4 && has_place((place_t) to); ++i) {
            call_t c = plain_call(PLACE_WINDOW, (place_t) to, few_sizes[i]);
            c.recv_at = (size_t) (3 * i);
            check_call(&c);
        }
    }
}

static void check_types(MPI_Datatype send_type, int send_count, MPI_Datatype recv_type,
                        int recv_count)
{
    int size;
    CHECK_OK(MPI_Type_size(recv_type, &size));
    call_t c = {.from = PLACE_WINDOW,
                .to = PLACE_WINDOW,
                .bytes = (size_t) size * (size_t) recv_count,
                .send_type = send_type,
                .send_count = send_count,
                .recv_type = recv_type,
                .recv_count = recv_count};
    check_call(&c);
    c.from = PLACE_HOST;
    check_call(&c);
    c.in_place = true;
    check_call(&c);
}

static void every_way_to_describe_the_bytes(void)
{
    MPI_Datatype triple;
    CHECK_OK(MPI_Type_contiguous(3, MPI_INT, &triple));
    CHECK_OK(MPI_Type_commit(&triple));
    check_types(MPI_INT, 10, MPI_INT, 10);
    check_types(MPI_DOUBLE, 1000, MPI_DOUBLE, 1000);
    check_types(MPI_SHORT, 3, MPI_SHORT, 3);
    check_types(triple, 4, MPI_INT, 12);
    check_types(MPI_INT, 3000, triple, 1000);
    check_types(triple, 100, triple, 100);
    check_types(MPI_C_DOUBLE_COMPLEX, 20, MPI_C_DOUBLE_COMPLEX, 20);
    check_types(MPI_LONG_DOUBLE, 2, MPI_LONG_DOUBLE, 2);
    CHECK_OK(MPI_Type_free(&triple));
}

static void many_calls_in_a_row(void)
{
    static const size_t sizes[] = {8, 2000, 500, 70000, 1, 9999};
    for (int i = 0; i < 240; ++i) {
        call_t c = plain_call(PLACE_WINDOW, PLACE_WINDOW, sizes[i % 6]);
        c.in_place = 0 == i % 5;
        c.recv_at = (size_t) (i % 2) * 16;
        if (0 == i % 40 && mt_rank == i / 40 % mt_size) {
            mt_sleep_ms(10);
        }
        check_call(&c);
    }
}

/* Input and output are overwritten at once: nobody may still read the one or write the other. */
static void buffers_are_free_when_the_call_returns(void)
{
    size_t bytes = 20000;
    char *recv = buffer_in(PLACE_WINDOW, false);
    char *send = buffer_in(PLACE_WINDOW, true);
    size_t total = bytes * (size_t) mt_size;
    char *copy = malloc(total);
    for (int i = 0; i < 60; ++i) {
        uint64_t round = ++round_number;
        mt_context("round %d", i);
        mt_fill(send, bytes, mt_seed(mt_rank, round));
        CHECK_OK(MPI_Allgather(send, (int) bytes, MPI_BYTE, recv, (int) bytes, MPI_BYTE,
                               MPI_COMM_WORLD));
        mt_poison(send, bytes);
        mt_read(copy, recv, total);
        mt_poison(recv, total);
        for (int r = 0; r < mt_size; ++r) {
            CHECK_PATTERN(copy + (size_t) r * bytes, bytes, mt_seed(r, round));
        }
        CHECK_POISON(recv, total);
    }
    free(copy);
}

/* All ranks have a common input in one rank's memory: an address of a peer's is as good as an own.
 */
static void input_in_a_peers_memory(void)
{
    size_t bytes = 3000;
    char *recv = buffer_in(PLACE_WINDOW, false);
    char *shared = mt_peer(&window, 0) + area + MT_GUARD;
    uint64_t round = ++round_number;
    if (0 == mt_rank) {
        mt_fill(shared, bytes, mt_seed(0, round));
    }
    mt_poison(recv - MT_GUARD, bytes * (size_t) mt_size + 2 * MT_GUARD);
    mt_barrier();
    symm_stats_t before = mt_stats();
    CHECK_OK(
        MPI_Allgather(shared, (int) bytes, MPI_BYTE, recv, (int) bytes, MPI_BYTE, MPI_COMM_WORLD));
    CHECK_SERVED(&before, NULL);
    for (int r = 0; r < mt_size; ++r) {
        CHECK_PATTERN(recv + (size_t) r * bytes, bytes, mt_seed(0, round));
    }
    mt_barrier();
}

static bool make_windows(void)
{
    MPI_Info info;
    largest = 2 >= mt_size ? (size_t) 8 << 20 : ((size_t) 1 << 20) + 3;
    area = largest * (size_t) mt_size + 4096;
    if (!mt_allocate(2 * area, 1, MPI_COMM_WORLD, &window)) {
        return false;
    }
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, SYMM_INFO_MEMORY_KIND, "system"));
    bool made = CHECK_OK(MPI_Win_allocate((MPI_Aint) (2 * area), 1, info, MPI_COMM_WORLD,
                                          &other_window.base, &other_window.win));
    CHECK_OK(MPI_Info_free(&info));
    return made;
}

int main(int argc, char **argv)
{
    mt_init(&argc, &argv, "coll_allgather");
    if (make_windows()) {
        MT_RUN(every_size_in_place_and_not);
        MT_RUN(every_alignment);
        MT_RUN(into_the_window_from_everywhere);
        MT_RUN(from_the_window_to_everywhere);
        MT_RUN(every_way_to_describe_the_bytes);
        MT_RUN(many_calls_in_a_row);
        MT_RUN(buffers_are_free_when_the_call_returns);
        MT_RUN(input_in_a_peers_memory);
        mt_win_free(&window);
        mt_win_free(&other_window);
    }
    for (int m = 0; m < MT_MEMORY_COUNT; ++m) {
        if (NULL != buffers[m]) {
            mt_free((mt_memory_t) m, buffers[m]);
        }
    }
    return mt_finish();
}
