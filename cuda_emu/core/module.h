/* Modules, libraries and the kernels in them; see module.c. */
#ifndef EMU_MODULE_H
#define EMU_MODULE_H

#include "cuda_emu/core/emu.h"

/* A CUfunction or a CUkernel. It lives as long as its module or library. */
struct emu_function {
    struct emu_function *next;
    struct emu_module *module;
    char *name;
    struct emu_twin twin; /* run == NULL: none, launching says so */
    int dynamic_shared;   /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
};
struct emu_module {
    struct emu_module *next;
    struct emu_ctx *ctx; /* NULL: a library, which belongs to no context */
    uint64_t ctx_id;
    struct emu_function *functions;
};

#endif
