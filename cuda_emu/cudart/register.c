/* The tables behind __cudaRegister...: filled by constructors, before main. */
#include "cuda_emu/cudart/register.h"

#include <pthread.h>
#include <stdlib.h>

/* What nvcc passes to __cudaRegisterFatBinary. */
struct fatbin_wrapper {
    int magic, version;
    const void *data;
    void *unused;
};

#define FATBIN_WRAPPER_MAGIC 0x466243b1

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rt_module *modules;
static struct rt_kernel *kernels;
static struct rt_variable *variables;

RT_EXPORT void **__cudaRegisterFatBinary(void *wrapper);
RT_EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
RT_EXPORT void __cudaUnregisterFatBinary(void **handle);
RT_EXPORT void __cudaRegisterFunction(void **handle, const char *stub, char *device_stub,
                                      const char *name, int threads, void *tid, void *bid,
                                      void *block, void *grid, int *warp);
RT_EXPORT void __cudaRegisterVar(void **handle, char *shadow, char *address, const char *name,
                                 int external, size_t size, int constant, int global);
RT_EXPORT void __cudaRegisterManagedVar(void **handle, void **pointer, char *address,
                                        const char *name, int external, size_t size, int constant,
                                        int global);
RT_EXPORT void __cudaRegisterHostVar(void **handle, const char *name, char *shadow, size_t size);
RT_EXPORT char __cudaInitModule(void **handle);

void rt_registry_lock(void)
{
    pthread_mutex_lock(&lock);
}

void rt_registry_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* Without memory the program could not launch anything; it has not even reached main. */
static void *entry(size_t size)
{
    void *new = calloc(1, size);

    if (new == NULL)
        abort();
    return new;
}

void **__cudaRegisterFatBinary(void *wrapper)
{
    const struct fatbin_wrapper *fatbin = wrapper;
    struct rt_module *module = entry(sizeof(*module));

    module->image = fatbin->magic == FATBIN_WRAPPER_MAGIC ? fatbin->data : wrapper;
    rt_registry_lock();
    module->next = modules;
    modules = module;
    rt_registry_unlock();
    return (void **)module;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaRegisterFunction(void **handle, const char *stub, char *device_stub, const char *name,
                            int threads, void *tid, void *bid, void *block, void *grid, int *warp)
{
    struct rt_kernel *kernel = entry(sizeof(*kernel));

    (void)device_stub, (void)threads, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    kernel->module = (struct rt_module *)handle;
    kernel->stub = stub;
    kernel->name = name;
    rt_registry_lock();
    kernel->next = kernels;
    kernels = kernel;
    rt_registry_unlock();
}

static void add_variable(void **handle, const void *shadow, const char *name, size_t size,
                         void **managed)
{
    struct rt_variable *variable = entry(sizeof(*variable));

    variable->module = (struct rt_module *)handle;
    variable->shadow = shadow;
    variable->name = name;
    variable->size = size;
    variable->managed = managed;
    rt_registry_lock();
    variable->next = variables;
    variables = variable;
    rt_registry_unlock();
}

void __cudaRegisterVar(void **handle, char *shadow, char *address, const char *name, int external,
                       size_t size, int constant, int global)
{
    (void)address, (void)external, (void)constant, (void)global;
    add_variable(handle, shadow, name, size, NULL);
}

void __cudaRegisterManagedVar(void **handle, void **pointer, char *address, const char *name,
                              int external, size_t size, int constant, int global)
{
    (void)address, (void)external, (void)constant, (void)global;
    add_variable(handle, pointer, name, size, pointer);
}

/* Host variables that device code reads: there is no device code here. */
void __cudaRegisterHostVar(void **handle, const char *name, char *shadow, size_t size)
{
    (void)handle, (void)name, (void)shadow, (void)size;
}

/* Called before the program first touches a __managed__ variable: gives each its memory. */
char __cudaInitModule(void **handle)
{
    char ready = 1;

    for (struct rt_variable *v = variables; v != NULL; v = v->next) {
        void *address;
        size_t size;

        if (v->module == (struct rt_module *)handle && v->managed != NULL && *v->managed == NULL &&
            rt_symbol(v->shadow, &address, &size) != cudaSuccess)
            ready = 0;
    }
    return ready;
}

struct rt_kernel *rt_find_kernel(const void *stub)
{
    struct rt_kernel *kernel;

    rt_registry_lock();
    for (kernel = kernels; kernel != NULL && kernel->stub != stub; kernel = kernel->next)
        ;
    rt_registry_unlock();
    return kernel;
}

struct rt_variable *rt_find_variable(const void *shadow)
{
    struct rt_variable *variable;

    rt_registry_lock();
    for (variable = variables; variable != NULL; variable = variable->next) {
        if (variable->shadow == shadow ||
            (variable->managed != NULL && *variable->managed == shadow))
            break;
    }
    rt_registry_unlock();
    return variable;
}

static void drop_kernels(const struct rt_module *module)
{
    struct rt_kernel **link = &kernels;

    while (*link != NULL) {
        struct rt_kernel *kernel = *link;

        if (kernel->module == module) {
            *link = kernel->next;
            free(kernel);
        } else {
            link = &kernel->next;
        }
    }
}

static void drop_variables(const struct rt_module *module)
{
    struct rt_variable **link = &variables;

    while (*link != NULL) {
        struct rt_variable *variable = *link;

        if (variable->module == module) {
            *link = variable->next;
            free(variable);
        } else {
            link = &variable->next;
        }
    }
}

/* Device memory of its variables goes with the context: this may run after the driver is gone. */
void __cudaUnregisterFatBinary(void **handle)
{
    struct rt_module *module = (struct rt_module *)handle, **link = &modules;

    rt_registry_lock();
    drop_kernels(module);
    drop_variables(module);
    while (*link != NULL && *link != module)
        link = &(*link)->next;
    if (*link != NULL) {
        *link = module->next;
        free(module);
    }
    rt_registry_unlock();
}
