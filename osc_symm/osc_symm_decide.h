/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What becomes of a window: pure decisions on the user's info values and on what all ranks said, so
 * that all ranks decide alike. Nothing here talks to anyone. */
#ifndef OSC_SYMM_DECIDE_H
#define OSC_SYMM_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi_symm.h"
#include "symm_error.h"

/* What a rank wants of this component. */
typedef enum osc_symm_want {
    OSC_SYMM_WANT_NOTHING, /* no info key, or a kind that the program says it does not use */
    OSC_SYMM_WANT_SYSTEM,
    OSC_SYMM_WANT_CUDA,
    OSC_SYMM_WANT_UNKNOWN, /* a value we do not know */
} osc_symm_want_t;

/* The info values that concern us, NULL where a key is absent. */
typedef struct osc_symm_info_values {
    const char *memory_kind;    /* symm_memory_kind */
    const char *required;       /* symm_required */
    const char *noncontig;      /* alloc_shared_noncontig */
    const char *asserted_kinds; /* mpi_assert_memory_alloc_kinds */
} osc_symm_info_values_t;

/* The memory that a rank brings to a window. */
typedef enum osc_symm_memory {
    OSC_SYMM_MEMORY_NONE, /* none yet, or none at all: allocated, dynamic and empty windows */
    OSC_SYMM_MEMORY_SYSTEM,
    OSC_SYMM_MEMORY_CUDA,
} osc_symm_memory_t;

/* One rank's request, gathered as bytes. */
typedef struct osc_symm_request {
    int32_t code; /* MPI error class of a malformed value, MPI_SUCCESS otherwise */
    uint8_t want; /* osc_symm_want_t */
    uint8_t required;
    uint8_t noncontig;
    uint8_t has_next; /* another OSC component would serve this window */
    uint8_t memory;   /* osc_symm_memory_t */
    uint8_t served;   /* a parameter says that windows on memory of the program's are ours */
    uint64_t size;
    int32_t disp_unit;
    uint32_t uid;
    uint64_t host; /* ranks with the same value share a kernel and its socket names */
} osc_symm_request_t;

typedef enum osc_symm_action {
    OSC_SYMM_USE,      /* create a symmetric window of kind */
    OSC_SYMM_DELEGATE, /* hand the window to the best other component */
    OSC_SYMM_FAIL,     /* every rank returns code */
} osc_symm_action_t;

typedef struct osc_symm_decision {
    osc_symm_action_t action;
    symm_kind_t kind;   /* OSC_SYMM_USE */
    int code;           /* OSC_SYMM_FAIL */
    const char *reason; /* why it is not what was asked for, a static text; "" when it is */
    bool asked;         /* some rank asked for a kind of memory */
    bool required;      /* some rank insists on that */
    bool noncontig;     /* every rank allows gaps between the ranks' memory */
    bool all_have_next; /* another component would serve the window on every rank */
    bool same_host;     /* all ranks can share memory */
    bool served;        /* some rank wants us whatever the memory */
    bool any_system;    /* some rank brings host memory */
    bool any_cuda;      /* some rank brings GPU memory, which no other component knows */
} osc_symm_decision_t;

/* Reads the info values, in their absence default_kind (an MCA parameter, may be "" or NULL), into
 * the fields want, required, noncontig and code of *request_p. Malformed values are recorded in
 * error. */
void osc_symm_read_request(const osc_symm_info_values_t *values, const char *default_kind,
                           osc_symm_request_t *request_p, symm_error_t *error);

/* Decides on what all ranks [size] asked for. */
void osc_symm_decide(const osc_symm_request_t *requests, int size, osc_symm_decision_t *decision_p);

/* Decides what to do when creating the window that *decision chose has failed with code on all
 * ranks alike; changes *decision. */
void osc_symm_decide_after_failure(osc_symm_decision_t *decision, int code);

#endif
