/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The finished modules, opened as Open MPI opens them: all symbols resolved at once, visible to all
 * that is loaded later. Linked with libmpi alone. The modules' paths come from the Makefile, or
 * from SYMM_TEST_OSC_MODULE and SYMM_TEST_COLL_MODULE in the environment. */
#include "symm_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is to be looked for in a module. */
typedef struct module {
    const char *variable; /* of the environment */
    const char *path;     /* where the build put it */
    const char *component;
    const char *hidden; /* a function that is nobody else's business */
} module_t;

static const module_t osc = {"SYMM_TEST_OSC_MODULE", SYMM_TEST_OSC_MODULE, "mca_osc_symm_component",
                             "ompi_osc_symm_put"};
static const module_t coll = {"SYMM_TEST_COLL_MODULE", SYMM_TEST_COLL_MODULE,
                              "mca_coll_symm_component", "mca_coll_symm_allreduce"};

static void *open_module(const module_t *module)
{
    const char *path = getenv(module->variable);
    void *library = dlopen(NULL == path ? module->path : path, RTLD_NOW | RTLD_GLOBAL);
    if (NULL == library) {
        fprintf(stderr, "%s\n", dlerror());
    }
    return library;
}

/* All component structures begin alike: the framework's and the component's names are in the first
 * few dozen bytes. */
static bool is_named_symm(const char *component)
{
    for (size_t at = 0; at < 200; ++at) {
        if (0 == memcmp(component + at, "symm", sizeof("symm"))) {
            return true;
        }
    }
    return false;
}

static bool is_good(const module_t *module)
{
    void *library = open_module(module);
    if (NULL == library) {
        return false;
    }
    const char *component = dlsym(library, module->component);
    return NULL != component && is_named_symm(component) && NULL == dlsym(library, module->hidden);
}

/* In a process of its own, so that each module is the first once. */
static void assert_in_child(const module_t *first, const module_t *second)
{
    int status = -1;
    pid_t child = fork();
    assert_true(0 <= child);
    if (0 == child) {
        _exit(is_good(first) && (NULL == second || is_good(second)) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void osc_module_opens_alone(void **state)
{
    (void) state;
    assert_in_child(&osc, NULL);
}

static void coll_module_opens_alone(void **state)
{
    (void) state;
    assert_in_child(&coll, NULL);
}

static void modules_open_in_either_order(void **state)
{
    (void) state;
    assert_in_child(&osc, &coll);
    assert_in_child(&coll, &osc);
}

/* Both work on one registry and one set of counters, and a user's program on the same. */
static bool share_one_library(void)
{
    void *one = open_module(&osc);
    void *other = open_module(&coll);
    if (NULL == one || NULL == other) {
        return false;
    }
    void *query = dlsym(one, "symm_stats_query");
    return NULL != query && query == dlsym(other, "symm_stats_query") &&
           query == dlsym(RTLD_DEFAULT, "symm_stats_query");
}

static void modules_share_one_library(void **state)
{
    int status = -1;
    (void) state;
    pid_t child = fork();
    assert_true(0 <= child);
    if (0 == child) {
        _exit(share_one_library() ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* The test is linked with libmpi, as a program is that the modules are opened in. */
static void this_program_has_mpi(void **state)
{
    int version, subversion;
    (void) state;
    assert_int_equal(MPI_Get_version(&version, &subversion), MPI_SUCCESS);
    assert_true(3 <= version);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_program_has_mpi),      cmocka_unit_test(osc_module_opens_alone),
        cmocka_unit_test(coll_module_opens_alone),   cmocka_unit_test(modules_open_in_either_order),
        cmocka_unit_test(modules_share_one_library),
    };
    return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
