/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * memfd_create, fallocate and mmap, each checked. */
#include "symm_config.h"

#include "symm_shm.h"
#include "symm_log.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* A file beyond RLIMIT_FSIZE does not fail, it raises SIGXFSZ: look before. */
static int check_file_limit(size_t len, symm_error_t *error)
{
    struct rlimit limit;
    if (0 == getrlimit(RLIMIT_FSIZE, &limit) && RLIM_INFINITY != limit.rlim_cur &&
        limit.rlim_cur < len) {
        return symm_error_set(error, MPI_ERR_NO_MEM,
                              "shared memory of %zu bytes exceeds the file size limit of %zu; "
                              "raise it (ulimit -f)",
                              len, (size_t) limit.rlim_cur);
    }
    return MPI_SUCCESS;
}

static int allocate_pages(int fd, size_t len)
{
    int rc;
    do {
        rc = fallocate(fd, 0, 0, (off_t) len);
    } while (0 != rc && EINTR == errno);
    return rc;
}

int symm_shm_create(size_t len, int *fd_p, symm_error_t *error)
{
    int rc = check_file_limit(len, error);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    int fd = memfd_create("mpi_symm", MFD_CLOEXEC);
    if (0 > fd) {
        const char *hint = EMFILE == errno ? "; raise the descriptor limit (ulimit -n)" : "";
        return symm_error_set_errno(error, MPI_ERR_NO_MEM, errno, "memfd_create%s", hint);
    }
    if (0 != allocate_pages(fd, len)) {
        rc = symm_error_set_errno(error, MPI_ERR_NO_MEM, errno,
                                  "fallocate of %zu bytes of shared memory; ask for less or raise "
                                  "the memory limit of this job",
                                  len);
        (void) close(fd); /* the failure to report is the one above */
        return rc;
    }
    *fd_p = fd;
    return MPI_SUCCESS;
}

int symm_shm_map(int fd, size_t len, void *at, void **address_p, symm_error_t *error)
{
    int flags = MAP_SHARED | (NULL == at ? 0 : MAP_FIXED);
    void *address = mmap(at, len, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (MAP_FAILED == address) {
        return symm_error_set_errno(error, MPI_ERR_NO_MEM, errno,
                                    "mmap of %zu bytes; raise the address space limit (ulimit -v)",
                                    len);
    }
    *address_p = address;
    return MPI_SUCCESS;
}

void symm_shm_unmap(void *address, size_t len)
{
    if (NULL != address && 0 != munmap(address, len)) {
        symm_log(SYMM_LOG_WARN, "munmap of %zu bytes at %p: %s", len, address, strerror(errno));
    }
}
