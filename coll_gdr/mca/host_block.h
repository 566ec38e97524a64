/*
 * Host memory for staged calls. Pinned blocks are kept for later calls: they are given back
 * anywhere, also in progress, and freed at entry of a call only.
 */
#ifndef GDR_HOST_BLOCK_H
#define GDR_HOST_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What every block's address is a multiple of, and its size should be. */
enum { GDR_HOST_BLOCK_ALIGNMENT = 256 };

typedef struct gdr_host_block {
    struct gdr_host_block *next;
    void *address;
    size_t bytes;
    uint64_t context; /* that pinned it; 0: ordinary memory */
    int ordinal;
    bool sparse;
} gdr_host_block_t;

/*
 * At least `bytes` bytes, for copies to and from device `ordinal`; NULL: no memory. `pin`: it may
 * be pinned, and what is kept in excess may be freed: at entry of a call, when gdr_mca_quiet().
 * Else a kept block or ordinary memory.
 */
gdr_host_block_t *gdr_host_block_get(int ordinal, size_t bytes, bool pin);
/* Ordinary memory that takes room only where it is touched. */
gdr_host_block_t *gdr_host_block_sparse(size_t bytes);
/* Frees nothing of CUDA's. NULL is allowed. */
void gdr_host_block_put(gdr_host_block_t *block);

/* Frees what is kept for later calls; no call is running. */
void gdr_host_block_shutdown(void);

#endif
