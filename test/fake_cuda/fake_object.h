/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The register of what the program was given handles to: streams, modules, graphs,
 * events. A handle is
 * looked up here before it is followed, so that a stale one is told instead of crashing. */
#ifndef FAKE_OBJECT_H
#define FAKE_OBJECT_H

#include <stdbool.h>

#include "fake_cuda.h"

typedef enum fake_kind {
    FAKE_STREAM,
    FAKE_MODULE,
    FAKE_GRAPH,
    FAKE_GRAPH_EXEC,
    FAKE_EVENT,
    FAKE_KIND_COUNT,
} fake_kind_t;

/* The first member of every such struct. */
typedef struct fake_object {
    struct fake_object *next;
    fake_kind_t kind;
    CUcontext context;
} fake_object_t;

/* "streams" and so on. */
const char *fake_kind_name(fake_kind_t kind);

void fake_object_add(fake_object_t *object, fake_kind_t kind, CUcontext context);

/* Takes the object out; false when it is not there, which is told as misuse. Does not free. */
bool fake_object_remove(void *handle, fake_kind_t kind);

/* Whether handle is one of that kind; if not, that is told as misuse. */
bool fake_object_check(const void *handle, fake_kind_t kind);

/* How many there are, of one context or (NULL) of all. */
long fake_object_count(fake_kind_t kind, CUcontext context);

/* How many of them somebody should have freed. Not so the modules in a context that the program
 * made: a library cannot know whether it still lives, and the modules go with it. */
long fake_object_leaks(fake_kind_t kind, CUcontext context);

/* One of that kind and context, NULL when there is none left. */
void *fake_object_any(fake_kind_t kind, CUcontext context);

#endif
