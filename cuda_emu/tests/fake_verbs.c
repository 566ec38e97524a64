/*
 * A libibverbs without a device. As a kernel does, it refuses memory that cannot be written; a
 * region can be written by its remote address, as a NIC does.
 */
#include <infiniband/verbs.h>
#undef ibv_reg_mr

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_verbs.h"

struct fake_mr {
    struct ibv_mr mr; /* first: what the caller sees */
    void *pinned;
    uint64_t iova;
};

/* 0 where the kernel could read and write all pages. */
static int try_pages(char *address, size_t bytes)
{
    int ends[2], bad = 0;
    char byte;

    if (pipe(ends) != 0)
        return 1;
    for (size_t i = 0; i < bytes && !bad; i += bytes - i > 4096 ? 4096 : bytes - i)
        bad = write(ends[1], address + i, 1) != 1 || read(ends[0], &byte, 1) != 1;
    bad |= write(ends[1], "x", 1) != 1 || (!bad && write(ends[1], address + bytes - 1, 1) != 1);
    close(ends[0]);
    close(ends[1]);
    return bad;
}

static struct ibv_mr *make(struct ibv_pd *pd, void *address, size_t bytes, uint64_t iova)
{
    struct fake_mr *made;

    if (try_pages(address, bytes) != 0) {
        errno = EFAULT;
        return NULL;
    }
    made = calloc(1, sizeof(*made));
    if (made == NULL)
        return NULL;
    made->mr.pd = pd;
    made->mr.addr = address;
    made->mr.length = bytes;
    made->pinned = address;
    made->iova = iova;
    return &made->mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t bytes, int access)
{
    (void)access;
    return make(pd, address, bytes, (uintptr_t)address);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t bytes, uint64_t iova,
                                unsigned access)
{
    (void)access;
    return make(pd, address, bytes, iova);
}

/* The address is what was registered, or this library's books of the process's pages are wrong. */
int ibv_dereg_mr(struct ibv_mr *mr)
{
    struct fake_mr *made = (struct fake_mr *)mr;

    if (mr->addr != made->pinned)
        return EINVAL;
    free(made);
    return 0;
}

int fake_nic_write(struct ibv_mr *mr, uint64_t address, const void *bytes, size_t count)
{
    struct fake_mr *made = (struct fake_mr *)mr;

    if (address < made->iova || address + count > made->iova + mr->length)
        return EINVAL;
    memcpy((char *)made->pinned + (address - made->iova), bytes, count);
    return 0;
}
