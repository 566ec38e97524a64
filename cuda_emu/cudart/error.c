/* Errors: names, texts, the last one of each thread. */
#include "cuda_emu/cudart/rt.h"
#include "cuda_emu/emu_device.h"

#include <stdarg.h>

RT_EXPORT cudaError_t cudaGetLastError(void);
RT_EXPORT cudaError_t cudaPeekAtLastError(void);
RT_EXPORT const char *cudaGetErrorName(cudaError_t error);
RT_EXPORT const char *cudaGetErrorString(cudaError_t error);

static __thread cudaError_t last_error;

/* After these the context is unusable; cudaGetLastError goes on returning them. */
static int sticky(cudaError_t error)
{
    switch (error) {
    case cudaErrorInsufficientDriver:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
        return 1;
    default:
        return 0;
    }
}

cudaError_t rt_record(cudaError_t error)
{
    if (error != cudaSuccess && !sticky(last_error))
        last_error = error;
    return error;
}

void rt_clear_error(void)
{
    last_error = cudaSuccess;
}

void rt_verbose(const char *format, ...)
{
    va_list arguments;
    char line[512];

    if (!emu_verbose_wanted())
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    fprintf(stderr, "cuda_emu: %s\n", line);
}

int rt_unsupported(const char *function)
{
    rt_verbose("%s is not implemented: returns cudaErrorNotSupported", function);
    return rt_record(cudaErrorNotSupported);
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last_error;

    if (!sticky(error))
        last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
#define X(code, name, text)                                                                        \
    case code:                                                                                     \
        return #name;
#include "errors.def"
#undef X
    }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
#define X(code, name, text)                                                                        \
    case code:                                                                                     \
        return text;
#include "errors.def"
#undef X
    }
    return "unrecognized error code";
}
