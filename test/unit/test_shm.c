/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Shared host memory: what it is when it can be had, and what is left when it cannot. Limits are
 * lowered for real, and set back. */
#include "symm_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symm_shm.h"

#define LEN ((size_t) 100000)

static int open_descriptors(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (NULL != readdir(dir)) {
        ++count;
    }
    (void) closedir(dir);
    return count;
}

static int create(size_t len)
{
    symm_error_t error = {0};
    int fd = -1;
    assert_int_equal(symm_shm_create(len, &fd, &error), MPI_SUCCESS);
    assert_int_equal(error.code, MPI_SUCCESS);
    assert_true(0 <= fd);
    return fd;
}

static char *map(int fd, size_t len, void *at)
{
    symm_error_t error = {0};
    void *address = NULL;
    assert_int_equal(symm_shm_map(fd, len, at, &address, &error), MPI_SUCCESS);
    assert_non_null(address);
    return address;
}

static void memory_is_zeroed_and_as_long_as_asked(void **state)
{
    struct stat status;
    (void) state;
    int fd = create(LEN);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_size, LEN);
    assert_true((size_t) status.st_blocks * 512 >= LEN); /* the pages are there already */
    char *memory = map(fd, LEN, NULL);
    for (size_t i = 0; i < LEN; ++i) {
        assert_int_equal(memory[i], 0);
    }
    symm_shm_unmap(memory, LEN);
    (void) close(fd);
}

static void mappings_share_and_outlive_the_descriptor(void **state)
{
    (void) state;
    int fd = create(LEN);
    char *a = map(fd, LEN, NULL);
    char *b = map(fd, LEN, NULL);
    (void) close(fd);
    assert_ptr_not_equal(a, b);
    memset(a, 7, LEN);
    assert_int_equal(b[LEN - 1], 7);
    symm_shm_unmap(a, LEN);
    b[0] = 8;
    assert_int_equal(b[1], 7);
    symm_shm_unmap(b, LEN);
}

static void maps_where_it_is_told(void **state)
{
    (void) state;
    void *place = mmap(NULL, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(place, MAP_FAILED);
    int fd = create(LEN);
    assert_ptr_equal(map(fd, LEN, place), place);
    memset(place, 1, LEN);
    symm_shm_unmap(place, LEN);
    (void) close(fd);
}

static void descriptor_is_not_inherited(void **state)
{
    (void) state;
    int fd = create(LEN);
    assert_true(0 != (fcntl(fd, F_GETFD) & FD_CLOEXEC));
    (void) close(fd);
}

static void unmapping_nothing_is_allowed(void **state)
{
    (void) state;
    symm_shm_unmap(NULL, LEN);
}

/* ---- failures ---- */

/* Creation fails with a text that has `hint` in it; no descriptor is left and fd is not written. */
static void assert_create_fails(size_t len, const char *hint)
{
    symm_error_t error = {0};
    int fd = -7;
    int before = open_descriptors();
    assert_int_equal(symm_shm_create(len, &fd, &error), MPI_ERR_NO_MEM);
    assert_int_equal(error.code, MPI_ERR_NO_MEM);
    assert_non_null(strstr(error.text, hint));
    assert_int_equal(fd, -7);
    assert_int_equal(open_descriptors(), before);
}

static struct rlimit lower(int resource, rlim_t value)
{
    struct rlimit saved, limit;
    assert_int_equal(getrlimit(resource, &saved), 0);
    limit = saved;
    limit.rlim_cur = value;
    assert_int_equal(setrlimit(resource, &limit), 0);
    return saved;
}

static void file_size_limit(void **state)
{
    (void) state;
    struct rlimit saved = lower(RLIMIT_FSIZE, LEN - 1);
    assert_create_fails(LEN, "ulimit -f"); /* and no SIGXFSZ, which would end us here */
    assert_create_fails((size_t) 1 << 40, "ulimit -f");
    int fd = create(LEN - 1);
    (void) close(fd);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &saved), 0);
    (void) close(create(LEN));
}

static void descriptor_limit(void **state)
{
    (void) state;
    int free_fd = dup(0);
    assert_true(0 <= free_fd);
    (void) close(free_fd);
    symm_error_t error = {0};
    int fd = -7;
    struct rlimit saved = lower(RLIMIT_NOFILE, (rlim_t) free_fd);
    int rc = symm_shm_create(LEN, &fd, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
    assert_int_equal(rc, MPI_ERR_NO_MEM);
    assert_non_null(strstr(error.text, "ulimit -n"));
    assert_int_equal(fd, -7);
}

/* More than any file may be, so that the system refuses before it looks for memory. */
static void absurd_length(void **state)
{
    (void) state;
    assert_create_fails((size_t) 1 << 63, "");
    assert_create_fails(SIZE_MAX, "");
}

static void mapping_fails_cleanly(void **state)
{
    symm_error_t error = {0};
    void *address = &error;
    (void) state;
    int fd = create(LEN);
    assert_int_equal(symm_shm_map(fd, (size_t) 1 << 62, NULL, &address, &error), MPI_ERR_NO_MEM);
    assert_non_null(strstr(error.text, "mmap"));
    assert_ptr_equal(address, &error);
    symm_error_t another = {0};
    assert_int_equal(symm_shm_map(-1, LEN, NULL, &address, &another), MPI_ERR_NO_MEM);
    (void) close(fd);
}

/* The first error stays: it is the cause. */
static void earlier_error_is_kept(void **state)
{
    symm_error_t error = {.code = MPI_ERR_OTHER, .text = "before"};
    void *address;
    (void) state;
    assert_int_not_equal(symm_shm_map(-1, LEN, NULL, &address, &error), MPI_SUCCESS);
    assert_int_equal(error.code, MPI_ERR_OTHER);
    assert_string_equal(error.text, "before");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_and_as_long_as_asked),
        cmocka_unit_test(mappings_share_and_outlive_the_descriptor),
        cmocka_unit_test(maps_where_it_is_told),
        cmocka_unit_test(descriptor_is_not_inherited),
        cmocka_unit_test(unmapping_nothing_is_allowed),
        cmocka_unit_test(file_size_limit),
        cmocka_unit_test(descriptor_limit),
        cmocka_unit_test(absurd_length),
        cmocka_unit_test(mapping_fails_cleanly),
        cmocka_unit_test(earlier_error_is_kept),
    };
    return cmocka_run_group_tests_name("shm", tests, NULL, NULL);
}
