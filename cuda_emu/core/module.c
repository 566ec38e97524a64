/*
 * Modules and libraries. The image is looked at only to see that it is one: what runs is the twin
 * of the kernel's name. A name without a twin is found (the emulator cannot read SASS, so it does
 * not know better), and launching it fails with a line that says why.
 */
#include "cuda_emu/core/module.h"

#include <string.h>

#define FATBIN_MAGIC  UINT32_C(0xba55ed50)
#define WRAPPER_MAGIC UINT32_C(0x466243b1)

struct wrapper {
    uint32_t magic, version;
    const void *data;
    const void *unused;
};

static struct emu_module *modules; /* under list_lock */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_image(const void *image)
{
    uint32_t magic;

    memcpy(&magic, image, sizeof(magic));
    if (magic == WRAPPER_MAGIC) {
        struct wrapper wrapper;

        memcpy(&wrapper, image, sizeof(wrapper));
        return wrapper.data != NULL && is_image(wrapper.data);
    }
    if (magic == FATBIN_MAGIC || memcmp(image, "\177ELF", 4) == 0)
        return true;
    return memcmp(image, ".ver", 4) == 0 || memcmp(image, "//", 2) == 0 ||
           memcmp(image, "\n", 1) == 0;
}

static CUresult load(struct emu_ctx *ctx, const void *image, enum emu_type type, void **out)
{
    struct emu_module *module;

    if (out == NULL || image == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_image(image))
        return CUDA_ERROR_INVALID_IMAGE;
    if (ctx != NULL)
        emu_ctx_implicit_sync(ctx);
    module = calloc(1, sizeof(*module));
    if (module == NULL || !emu_handle_add(module, type)) {
        free(module);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    module->ctx = ctx;
    module->ctx_id = ctx == NULL ? 0 : ctx->id;
    pthread_mutex_lock(&list_lock);
    module->next = modules;
    modules = module;
    pthread_mutex_unlock(&list_lock);
    *out = module;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);

    return rc != CUDA_SUCCESS ? rc : load(ctx, image, EMU_TYPE_MODULE, (void **)module);
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count,
                                    CUjit_option *options, void **values)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);

    (void)count;
    (void)options;
    (void)values;
    return rc != CUDA_SUCCESS ? rc : load(ctx, image, EMU_TYPE_MODULE, (void **)module);
}

CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);

    return rc != CUDA_SUCCESS ? rc : load(ctx, image, EMU_TYPE_MODULE, (void **)module);
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *image, CUjit_option *jit_options,
                                   void **jit_values, unsigned int jit_count,
                                   CUlibraryOption *options, void **values, unsigned int count)
{
    CUresult rc = emu_enter(__func__);

    (void)jit_options;
    (void)jit_values;
    (void)jit_count;
    (void)options;
    (void)values;
    (void)count;
    return rc != CUDA_SUCCESS ? rc : load(NULL, image, EMU_TYPE_LIBRARY, (void **)library);
}

/* Out of the list already. */
static void free_module(struct emu_module *module)
{
    struct emu_function *function, *next;

    emu_handle_remove(module);
    for (function = module->functions; function != NULL; function = next) {
        next = function->next;
        emu_handle_remove(function);
        free(function->name);
        free(function);
    }
    free(module);
}

static void unlink_module(struct emu_module *module)
{
    pthread_mutex_lock(&list_lock);
    for (struct emu_module **m = &modules; *m != NULL; m = &(*m)->next) {
        if (*m == module) {
            *m = module->next;
            break;
        }
    }
    pthread_mutex_unlock(&list_lock);
}

void emu_module_drop_ctx(struct emu_ctx *ctx)
{
    struct emu_module *module;

    do {
        pthread_mutex_lock(&list_lock);
        module = modules;
        while (module != NULL && (module->ctx != ctx || module->ctx_id != ctx->id))
            module = module->next;
        pthread_mutex_unlock(&list_lock);
        if (module != NULL) {
            unlink_module(module);
            free_module(module);
        }
    } while (module != NULL);
}

CUresult CUDAAPI cuModuleUnload(CUmodule handle)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_handle_is(handle, EMU_TYPE_MODULE))
        return CUDA_ERROR_INVALID_HANDLE;
    emu_ctx_drain(ctx);
    unlink_module((struct emu_module *)handle);
    free_module((struct emu_module *)handle);
    return CUDA_SUCCESS;
}

static void drain(struct emu_ctx *ctx, void *arg)
{
    struct emu_ctx **list = arg;

    while (*list != NULL)
        list++;
    *list = ctx;
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary handle)
{
    struct emu_ctx *list[EMU_DEVICE_MAX + 257] = {NULL};
    CUresult rc = emu_enter(__func__);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_handle_is(handle, EMU_TYPE_LIBRARY))
        return CUDA_ERROR_INVALID_HANDLE;
    emu_lock();
    emu_ctx_each(drain, list);
    emu_unlock();
    for (size_t i = 0; list[i] != NULL; i++)
        emu_ctx_drain(list[i]);
    unlink_module((struct emu_module *)handle);
    free_module((struct emu_module *)handle);
    return CUDA_SUCCESS;
}

/* Under list_lock. */
static struct emu_function *get_function(struct emu_module *module, const char *name)
{
    struct emu_function *function = module->functions;

    while (function != NULL && strcmp(function->name, name) != 0)
        function = function->next;
    if (function != NULL)
        return function;
    function = calloc(1, sizeof(*function));
    if (function == NULL)
        return NULL;
    function->name = strdup(name);
    if (function->name == NULL || !emu_handle_add(function, EMU_TYPE_FUNCTION)) {
        free(function->name);
        free(function);
        return NULL;
    }
    function->module = module;
    function->dynamic_shared = 48 << 10;
    if (!emu_twin_find(name, &function->twin))
        emu_verbose("kernel %s has no twin", name);
    function->next = module->functions;
    module->functions = function;
    return function;
}

static CUresult find_function(void **out, void *module, const char *name)
{
    struct emu_function *function;

    if (out == NULL || name == NULL || name[0] == '\0')
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&list_lock);
    function = get_function(module, name);
    pthread_mutex_unlock(&list_lock);
    if (function == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = function;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_handle_is(module, EMU_TYPE_MODULE))
        return CUDA_ERROR_INVALID_HANDLE;
    return find_function((void **)out, module, name);
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *out, CUlibrary library, const char *name)
{
    CUresult rc = emu_enter(__func__);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_handle_is(library, EMU_TYPE_LIBRARY))
        return CUDA_ERROR_INVALID_HANDLE;
    return find_function((void **)out, library, name);
}

CUresult CUDAAPI cuKernelGetFunction(CUfunction *out, CUkernel kernel)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!emu_handle_is(kernel, EMU_TYPE_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUfunction)kernel;
    return CUDA_SUCCESS;
}

/* Variables of a module are on the card only: there is no twin of data. */
CUresult CUDAAPI cuModuleGetGlobal(CUdeviceptr *out, size_t *bytes, CUmodule module,
                                   const char *name)
{
    struct emu_ctx *ctx;
    CUresult rc = emu_enter_ctx(__func__, &ctx);

    (void)out;
    (void)bytes;
    (void)name;
    if (rc != CUDA_SUCCESS)
        return rc;
    return emu_handle_is(module, EMU_TYPE_MODULE) ? CUDA_ERROR_NOT_FOUND
                                                  : CUDA_ERROR_INVALID_HANDLE;
}
