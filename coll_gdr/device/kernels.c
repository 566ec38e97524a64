/* Modules, functions and launches of the kernels room's reduce-copy kernels. */
#include "device/dev.h"

#include "base/gdr_math.h"
#include "kernels/gdr_kernels.h"

#include <inttypes.h>
#include <stdlib.h>

static gdr_status_t load_module(gdr_dev_t *dev, uint32_t image, CUmodule *module)
{
    const gdr_kernel_image_t *data = gdr_kernels_image(image);
    gdr_status_t status;

    if (dev->modules == NULL)
        dev->modules = calloc(gdr_kernels_images(), sizeof(CUmodule));
    if (dev->modules == NULL) {
        gdr_error(dev->log, "no memory for %zu modules", gdr_kernels_images());
        return GDR_ERR_NO_MEMORY;
    }
    if (dev->modules[image] == NULL) {
        status = GDR_CU_CALL(dev->log, cuModuleLoadData, (&dev->modules[image], data->data));
        if (status != GDR_OK) {
            gdr_error(dev->log,
                      "kernels %s do not load on device %d, compute capability %d.%d, driver %d.%d",
                      data->name, dev->ordinal, dev->caps.compute_capability / 10,
                      dev->caps.compute_capability % 10, gdr_driver()->version / 1000,
                      gdr_driver()->version % 1000 / 10);
            dev->modules[image] = NULL;
            return GDR_ERR_UNSUPPORTED;
        }
        gdr_debug(dev->log, "device %d: kernels %s loaded, %zu bytes", dev->ordinal, data->name,
                  data->bytes);
    }
    *module = dev->modules[image];
    return GDR_OK;
}

/* With the context current; *function stays NULL on an error. */
static gdr_status_t look_up(gdr_dev_t *dev, const gdr_kernel_t *kernel, CUfunction *function)
{
    CUmodule module;
    gdr_status_t status;

    if (*function != NULL)
        return GDR_OK;
    status = load_module(dev, kernel->image, &module);
    if (status != GDR_OK)
        return status;
    status = GDR_CU_CALL(dev->log, cuModuleGetFunction, (function, module, kernel->name));
    if (status != GDR_OK) {
        gdr_error(dev->log, "device %d: there is no kernel %s", dev->ordinal, kernel->name);
        *function = NULL;
        return GDR_ERR_UNSUPPORTED;
    }
    return GDR_OK;
}

gdr_status_t gdr_dev_load_copies(gdr_dev_t *dev)
{
    gdr_status_t status = look_up(dev, gdr_kernel_copy(), &dev->copy);

    return status == GDR_OK ? look_up(dev, gdr_kernel_gather(), &dev->gather) : status;
}

void gdr_dev_unload_kernels(gdr_dev_t *dev, bool alive)
{
    for (size_t i = 0; alive && dev->modules != NULL && i < gdr_kernels_images(); i++)
        if (dev->modules[i] != NULL)
            gdr_driver()->cuModuleUnload(dev->modules[i]);
    free(dev->modules);
    dev->modules = NULL;
}

/* The kernel for op on type; NULL, logged, where there is none. */
static const gdr_kernel_t *find(const gdr_dev_t *dev, gdr_op_t op, gdr_type_t type)
{
    const gdr_kernel_t *kernel = NULL;

    if ((unsigned)op < GDR_OP_COUNT && (unsigned)type < GDR_TYPE_COUNT)
        kernel = gdr_kernel_find(op, type);
    if (kernel == NULL)
        gdr_error(dev->log, "there is no kernel for %s on %s", gdr_op_name(op),
                  gdr_type_name(type));
    return kernel;
}

gdr_status_t gdr_dev_prepare(gdr_dev_t *dev, gdr_op_t op, gdr_type_t type)
{
    const gdr_kernel_t *kernel = find(dev, op, type);
    gdr_driver_scope_t scope;
    gdr_status_t status;

    if (kernel == NULL)
        return GDR_ERR_UNSUPPORTED;
    status = gdr_dev_enter(dev, &scope);
    if (status != GDR_OK)
        return status;
    status = look_up(dev, kernel, &dev->functions[op][type]);
    gdr_driver_leave(&scope);
    return status;
}

/* Each input of a gather has something to give, and only one output takes it. */
static gdr_status_t check_gather(const gdr_dev_t *dev, const gdr_dev_reduce_t *reduce)
{
    if (reduce->block == 0 ||
        (reduce->nout == 1 && gdr_div_up(reduce->bytes, reduce->block) == reduce->nin))
        return GDR_OK;
    gdr_error(dev->log,
              "a gather of %" PRIu64 " bytes in blocks of %" PRIu64 " has not %u inputs and %u "
              "outputs",
              reduce->bytes, reduce->block, reduce->nin, reduce->nout);
    return GDR_ERR_INVALID;
}

static gdr_status_t check_reduce(const gdr_dev_t *dev, const gdr_dev_reduce_t *reduce)
{
    if (reduce->nin >= 1 && reduce->nin <= GDR_KERNEL_MAX_INPUTS && reduce->nout >= 1 &&
        reduce->nout <= GDR_KERNEL_MAX_OUTPUTS)
        return check_gather(dev, reduce);
    gdr_error(dev->log, "a kernel takes 1 to %d inputs and 1 to %d outputs, not %u and %u",
              GDR_KERNEL_MAX_INPUTS, GDR_KERNEL_MAX_OUTPUTS, reduce->nin, reduce->nout);
    return GDR_ERR_INVALID;
}

static void fill_args(const gdr_dev_reduce_t *reduce, const gdr_kernel_t *kernel,
                      gdr_kernel_args_t *args)
{
    *args = (gdr_kernel_args_t){
        .abort = reduce->abort,
        .abort_value = reduce->abort_value,
        .count = reduce->bytes / kernel->bytes,
        .nin = reduce->nin,
        .nout = reduce->nout,
        .block = reduce->block,
    };
    for (uint32_t i = 0; i < reduce->nin; i++)
        args->in[i] = reduce->in[i];
    for (uint32_t i = 0; i < reduce->nout; i++)
        args->out[i] = reduce->out[i];
}

/* With the context current. */
static gdr_status_t launch(gdr_dev_stream_t *stream, const gdr_dev_reduce_t *reduce,
                           const gdr_kernel_t *kernel, CUfunction *function)
{
    gdr_dev_t *dev = stream->dev;
    gdr_kernel_args_t args;
    gdr_kernel_grid_t grid;
    void *params[] = {&args};
    gdr_status_t status = look_up(dev, kernel, function);

    if (status != GDR_OK)
        return status;
    fill_args(reduce, kernel, &args);
    grid = gdr_kernel_grid(args.count, kernel->bytes, dev->max_blocks);
    return GDR_CU_CALL(
        dev->log, cuLaunchKernel,
        (*function, grid.blocks, 1, 1, grid.threads, 1, 1, 0, stream->stream, params, NULL));
}

/* The kernel, and where its function is kept; NULL, logged, where there is none. */
static const gdr_kernel_t *choose(gdr_dev_t *dev, const gdr_dev_reduce_t *reduce,
                                  CUfunction **function)
{
    const gdr_kernel_t *kernel;

    if (reduce->block != 0) {
        *function = &dev->gather;
        return gdr_kernel_gather();
    }
    if (reduce->nin == 1) {
        *function = &dev->copy;
        return gdr_kernel_copy();
    }
    kernel = find(dev, reduce->op, reduce->type);
    if (kernel != NULL)
        *function = &dev->functions[reduce->op][reduce->type];
    return kernel;
}

gdr_status_t gdr_dev_reduce(gdr_dev_stream_t *stream, const gdr_dev_reduce_t *reduce)
{
    gdr_dev_t *dev = stream->dev;
    CUfunction *function;
    const gdr_kernel_t *kernel;
    gdr_driver_scope_t scope;
    gdr_status_t status = check_reduce(dev, reduce);

    if (status != GDR_OK || reduce->bytes == 0)
        return status;
    kernel = choose(dev, reduce, &function);
    if (kernel == NULL)
        return GDR_ERR_UNSUPPORTED;
    status = gdr_dev_enter(dev, &scope);
    if (status != GDR_OK)
        return status;
    status = launch(stream, reduce, kernel, function);
    gdr_driver_leave(&scope);
    return status;
}
