/*
 * What nvcc's start-up code registers: modules (fatbins), kernels and variables. Entries live until
 * their module is unregistered, looked up by the address that the host code uses.
 */
#ifndef CUDA_EMU_RT_REGISTER_H
#define CUDA_EMU_RT_REGISTER_H

#include "cuda_emu/cudart/rt.h"

enum { RT_LOADED_MAX = 32 }; /* contexts in which one module or variable can be in use at a time */

struct rt_module {
    struct rt_module *next;
    const void *image; /* the fatbin, where the program has it */
    struct {
        unsigned long long context_id; /* 0: free */
        CUmodule module;
    } loaded[RT_LOADED_MAX];
};

struct rt_kernel {
    struct rt_kernel *next;
    struct rt_module *module;
    const void *stub; /* the host function's address */
    const char *name; /* mangled, as the fatbin has it */
};

struct rt_variable {
    struct rt_variable *next;
    struct rt_module *module;
    const void *shadow; /* the host variable's address */
    const char *name;
    size_t size;
    void **managed; /* __managed__: where the program keeps its address; else NULL */
    struct {
        unsigned long long context_id;
        CUdeviceptr address;
    } placed[RT_LOADED_MAX];
};

/* NULL: nobody has registered it. */
struct rt_kernel *rt_find_kernel(const void *stub);
struct rt_variable *rt_find_variable(const void *shadow);

/* The registry's lock: held while `loaded` and `placed` are read or written. */
void rt_registry_lock(void);
void rt_registry_unlock(void);

#endif
