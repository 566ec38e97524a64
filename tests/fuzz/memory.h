/* A buffer of any kind of memory that MPI may be given, with what lies around it. */
#ifndef GDR_FUZZ_MEMORY_H
#define GDR_FUZZ_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum fz_memory {
    FZ_MALLOC,  /* cudaMalloc */
    FZ_MANAGED, /* cudaMallocManaged */
    FZ_POOL,    /* cudaMallocAsync */
    FZ_VMM,     /* cuMemCreate, cuMemMap */
    FZ_HEAP,    /* malloc */
    FZ_PINNED,  /* cudaMallocHost */
    FZ_REGISTERED, /* malloc, cudaHostRegister */
    FZ_MEMORIES,
    FZ_FIRST_HOST = FZ_HEAP
} fz_memory_t;

typedef struct fz_buffer {
    fz_memory_t kind;
    int device;  /* of device memory */
    int writer;  /* the device that was current when it was written */
    char *block; /* as it was allocated */
    char *data;  /* `bytes` from here on */
    size_t bytes, size;
    uint64_t handle; /* VMM */
} fz_buffer_t;

const char *fz_memory_name(fz_memory_t kind);
/* `shift`: where the data begin in the block. Ends the job if there is no memory. */
void fz_buffer_make(fz_buffer_t *buffer, fz_memory_t kind, int device, size_t bytes, size_t shift);
void fz_buffer_write(fz_buffer_t *buffer, const char *from);
void fz_buffer_read(const fz_buffer_t *buffer, char *to);
void fz_buffer_free(fz_buffer_t *buffer);
void fz_cuda(int error, const char *what);

#endif
