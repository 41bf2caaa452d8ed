/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * A list under a lock; there are never many. */
#include "symm_config.h"

#include "fake_object.h"

#include "fake_context.h"
#include "fake_report.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fake_object_t *objects;

const char *fake_kind_name(fake_kind_t kind)
{
    static const char *const names[FAKE_KIND_COUNT] = {
        [FAKE_STREAM] = "streams",         [FAKE_MODULE] = "modules", [FAKE_GRAPH] = "graphs",
        [FAKE_GRAPH_EXEC] = "graph execs", [FAKE_EVENT] = "events",
    };
    return names[kind];
}

/* The link that points to handle, NULL when there is none. Under the lock. */
static fake_object_t **find(const void *handle, fake_kind_t kind)
{
    fake_object_t **link = &objects;
    while (NULL != *link && ((const void *) *link != handle || (*link)->kind != kind)) {
        link = &(*link)->next;
    }
    return NULL == *link ? NULL : link;
}

void fake_object_add(fake_object_t *object, fake_kind_t kind, CUcontext context)
{
    object->kind = kind;
    object->context = context;
    (void) pthread_mutex_lock(&lock); /* fails only on misuse */
    object->next = objects;
    objects = object;
    (void) pthread_mutex_unlock(&lock);
}

bool fake_object_remove(void *handle, fake_kind_t kind)
{
    (void) pthread_mutex_lock(&lock);
    fake_object_t **link = find(handle, kind);
    if (NULL != link) {
        *link = (*link)->next;
    }
    (void) pthread_mutex_unlock(&lock);
    if (NULL == link) {
        (void) fake_misuse(CUDA_SUCCESS, "%p is none of the %s", handle, fake_kind_name(kind));
    }
    return NULL != link;
}

bool fake_object_check(const void *handle, fake_kind_t kind)
{
    (void) pthread_mutex_lock(&lock);
    bool found = NULL != find(handle, kind);
    (void) pthread_mutex_unlock(&lock);
    if (!found) {
        (void) fake_misuse(CUDA_SUCCESS, "%p is none of the %s", handle, fake_kind_name(kind));
    }
    return found;
}

static bool matches(const fake_object_t *object, fake_kind_t kind, CUcontext context)
{
    return object->kind == kind && (NULL == context || object->context == context);
}

static bool may_stay(const fake_object_t *object)
{
    return FAKE_MODULE == object->kind && !object->context->primary;
}

static long count(fake_kind_t kind, CUcontext context, bool leaks)
{
    long number = 0;
    (void) pthread_mutex_lock(&lock);
    for (const fake_object_t *o = objects; NULL != o; o = o->next) {
        number += matches(o, kind, context) && !(leaks && may_stay(o)) ? 1 : 0;
    }
    (void) pthread_mutex_unlock(&lock);
    return number;
}

long fake_object_count(fake_kind_t kind, CUcontext context)
{
    return count(kind, context, false);
}

long fake_object_leaks(fake_kind_t kind, CUcontext context)
{
    return count(kind, context, true);
}

void *fake_object_any(fake_kind_t kind, CUcontext context)
{
    (void) pthread_mutex_lock(&lock);
    fake_object_t *o = objects;
    while (NULL != o && !matches(o, kind, context)) {
        o = o->next;
    }
    (void) pthread_mutex_unlock(&lock);
    return o;
}
