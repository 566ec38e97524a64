#include "cuda_emu/tests/rt_api.h"

#include <dlfcn.h>

struct rt_api rt;

static void find(void *library, const char *node, const char *name, void *slot)
{
    void *symbol = dlvsym(library, name, node);

    if (symbol == NULL)
        child_fail(node, 0, name, 0, 0);
    *(void **)slot = symbol;
}

void rt_open(int major)
{
    char name[64], node[32];
    void *library;

    snprintf(node, sizeof(node), "libcudart.so.%d", major);
    snprintf(name, sizeof(name), "cuda_emu/%s", node);
    library = dlopen(built(name), RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        child_fail(__FILE__, __LINE__, dlerror(), 0, 0);
    rt.major = major;
#define X(function, params) find(library, node, #function, &rt.function);
    RT_API(X)
#undef X
    find(library, node, "cudaGetErrorName", &rt.cudaGetErrorName);
    find(library, node, "cudaGetErrorString", &rt.cudaGetErrorString);
    find(library, node, major < 13 ? "cudaGetDeviceProperties_v2" : "cudaGetDeviceProperties",
         &rt.properties);
    if (major < 13)
        find(library, node, "cudaMemPrefetchAsync", &rt.prefetch_12);
    else
        find(library, node, "cudaMemPrefetchAsync", &rt.prefetch_13);
    find(library, node, "__cudaRegisterFatBinary", &rt.__cudaRegisterFatBinary);
    find(library, node, "__cudaRegisterFatBinaryEnd", &rt.__cudaRegisterFatBinaryEnd);
    find(library, node, "__cudaUnregisterFatBinary", &rt.__cudaUnregisterFatBinary);
    find(library, node, "__cudaRegisterFunction", &rt.__cudaRegisterFunction);
    find(library, node, "__cudaRegisterVar", &rt.__cudaRegisterVar);
}
