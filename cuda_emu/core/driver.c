/* The driver itself: version, entry points by name, texts of errors. */
#include "cuda_emu/core/emu.h"

#include <string.h>

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
    if (version == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *version = emu_config()->driver_version;
    return CUDA_SUCCESS;
}

static const struct emu_export *first_of(const char *name)
{
    size_t low = 0, high = emu_export_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(emu_exports[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == emu_export_count || strcmp(emu_exports[low].name, name) != 0)
        return NULL;
    return &emu_exports[low];
}

/*
 * The newest variant not newer than `version`; with `per_thread` its per-thread form where there
 * is one. *too_new: the name exists, in a later version only.
 */
static const void *lookup(const char *name, int version, bool per_thread, bool *too_new)
{
    const struct emu_export *best = NULL, *e = first_of(name);

    *too_new = e != NULL;
    for (; e != NULL && e < emu_exports + emu_export_count && strcmp(e->name, name) == 0; e++) {
        if (e->version > version || (e->per_thread && !per_thread))
            continue;
        if (best == NULL || e->per_thread > best->per_thread ||
            (e->per_thread == best->per_thread && e->version >= best->version))
            best = e;
    }
    if (best != NULL)
        *too_new = false;
    return best == NULL ? NULL : best->symbol;
}

CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult *status)
{
    const cuuint64_t known =
        CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    bool too_new;

    if (symbol == NULL || pfn == NULL || (flags & ~known) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    *pfn = (void *)(uintptr_t)lookup(
        symbol, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0, &too_new);
    if (status != NULL)
        *status = *pfn != NULL ? CU_GET_PROC_ADDRESS_SUCCESS
                  : too_new    ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                               : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *pfn != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* The form of CUDA 11: cuda.h has a macro of this name. */
#undef cuGetProcAddress
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags);
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
    return cuGetProcAddress_v2(symbol, pfn, version, flags, NULL);
}

static void say_real_runtime(void)
{
    emu_say("this program asks for the driver's private tables, as a real CUDA runtime does: it "
            "cannot run on an emulated driver; compile with -cudart shared and run with cuda-emu");
}

/* Tables that NVIDIA does not document; the real runtime calls through them without looking. */
CUresult CUDAAPI cuGetExportTable(const void **table, const CUuuid *id)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)id;
    pthread_once(&once, say_real_runtime);
    if (table == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}

/* There is no profiler to start. */
CUresult CUDAAPI cuProfilerStart(void);
CUresult CUDAAPI cuProfilerStart(void)
{
    struct emu_ctx *ctx;

    return emu_enter_ctx(__func__, &ctx);
}

CUresult CUDAAPI cuProfilerStop(void);
CUresult CUDAAPI cuProfilerStop(void)
{
    struct emu_ctx *ctx;

    return emu_enter_ctx(__func__, &ctx);
}

static const struct error_text {
    CUresult code;
    const char *name, *text;
} errors[] = {
#define E(code, text)                                                                              \
    {                                                                                              \
        code, #code, text                                                                          \
    }
    E(CUDA_SUCCESS, "no error"),
    E(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    E(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    E(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    E(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
    E(CUDA_ERROR_STUB_LIBRARY, "CUDA driver is a stub library"),
    E(CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable"),
    E(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    E(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    E(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    E(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    E(CUDA_ERROR_MAP_FAILED, "mapping of buffer object failed"),
    E(CUDA_ERROR_UNMAP_FAILED, "unmapping of buffer object failed"),
    E(CUDA_ERROR_ALREADY_MAPPED, "resource already mapped"),
    E(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
    E(CUDA_ERROR_NOT_MAPPED, "resource not mapped"),
    E(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture"),
    E(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, "exclusive-thread device already in use"),
    E(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices"),
    E(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid"),
    E(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
    E(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS"),
    E(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    E(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
    E(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    E(CUDA_ERROR_NOT_READY, "device not ready"),
    E(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    E(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    E(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
    E(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
    E(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
    E(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process"),
    E(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
    E(CUDA_ERROR_ASSERT, "device-side assert triggered"),
    E(CUDA_ERROR_TOO_MANY_PEERS, "peer mapping resources exhausted"),
    E(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
      "part or all of the requested memory range is already mapped"),
    E(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
      "pointer does not correspond to a registered memory region"),
    E(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error"),
    E(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"),
    E(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    E(CUDA_ERROR_INVALID_ADDRESS_SPACE, "operation not supported on global/shared address space"),
    E(CUDA_ERROR_INVALID_PC, "invalid program counter"),
    E(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    E(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"),
    E(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
    E(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    E(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing"),
    E(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
      "operation failed due to a previous error during capture"),
    E(CUDA_ERROR_STREAM_CAPTURE_MERGE, "operation would result in a merge of separate capture "
                                       "sequences"),
    E(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream as it began"),
    E(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
    E(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
      "dependency created on uncaptured work in another stream"),
    E(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
      "operation would make the legacy stream depend on a capturing blocking stream"),
    E(CUDA_ERROR_CAPTURED_EVENT,
      "operation not permitted on an event last recorded in a capturing stream"),
    E(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
      "attempt to terminate a thread-local capture sequence from another thread"),
    E(CUDA_ERROR_UNKNOWN, "unknown error"),
#undef E
};

static const struct error_text *find_error(CUresult error)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (errors[i].code == error)
            return &errors[i];
    }
    return NULL;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text)
{
    const struct error_text *found = find_error(error);

    if (text == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *text = found == NULL ? NULL : found->text;
    return found == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **name)
{
    const struct error_text *found = find_error(error);

    if (name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *name = found == NULL ? NULL : found->name;
    return found == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
