/*
 * Preloaded: a UCX whose puts are as late as its interface allows. A put is copied and reported as
 * done, at once or by a later progress; it really goes out after a random time, in an order of its
 * own, at the latest when its endpoint is flushed. What relies on more than put, completion, flush,
 * completion is found out. An endpoint that is closed by force takes with it what it still owes.
 *
 * LATE_PUTS_SEED (1), LATE_PUTS_US (2000: the longest time that a put is held, in microseconds),
 * LATE_PUTS_NO_FLUSH (set: a flush delivers nothing, which is a fault of its own). On emulated
 * devices only; one thread at a time uses UCX.
 */
#include "cuda_emu/include/cuda_emu.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef void *(*alias_fn)(uint64_t address, size_t bytes);
typedef CUresult (*mem_alloc_fn)(CUdeviceptr *address, size_t bytes);
typedef CUresult (*attribute_fn)(void *value, CUpointer_attribute which, CUdeviceptr address);
typedef CUresult (*push_fn)(CUcontext context);
typedef CUresult (*pop_fn)(CUcontext *context);
typedef ucs_status_ptr_t (*put_fn)(ucp_ep_h ep, const void *buffer, size_t count, uint64_t target,
                                   ucp_rkey_h rkey, const ucp_request_param_t *param);
typedef ucs_status_ptr_t (*ep_fn)(ucp_ep_h ep, const ucp_request_param_t *param);
typedef unsigned (*progress_fn)(ucp_worker_h worker);
typedef void (*free_fn)(void *request);
typedef void (*rkey_fn)(ucp_rkey_h rkey);

/* The caller sees one as a request while `told` is false; it is held while `sent` is. */
typedef struct late {
    struct late *next;
    ucp_ep_h ep;
    ucp_rkey_h rkey;
    uint64_t target, due;
    size_t bytes, room; /* of the put; of the copy's block */
    ucs_memory_type_t type;
    void *copy;
    ucp_send_nbx_callback_t tell;
    void *user_data;
    bool told, freed, sent, gone;
} late_t;

/* Device memory for copies, smallest first, never given back: freeing waits for every stream. */
typedef struct block {
    struct block *next;
    void *address;
    size_t bytes;
} block_t;

static late_t *all;
static block_t *blocks;
static uint64_t random_state, held_count, early_count;

static void *ucx(const char *name)
{
    return dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), name);
}

static void *cuda(const char *name)
{
    return dlsym(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), name);
}

/* ISO C has no cast from an object's address to a function's. */
#define FIND(function, symbol)                                                                     \
    do {                                                                                           \
        void *found_ = (symbol);                                                                   \
        memcpy(&(function), &found_, sizeof(found_));                                              \
    } while (0)

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

/* xorshift64*, seeded alike on every run but not on every rank. */
static uint64_t random_below(uint64_t bound)
{
    if (random_state == 0) {
        const uint64_t rank = number("OMPI_COMM_WORLD_RANK", 0);
        random_state = (number("LATE_PUTS_SEED", 1) + 1) * UINT64_C(0x9e3779b97f4a7c15) + rank;
    }
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (random_state * UINT64_C(2685821657736338717) >> 16) % bound;
}

static void stop(const char *what)
{
    fprintf(stderr, "late_puts: %s\n", what);
    abort();
}

/* ---- copies of sources ---- */

static void *device_block(const void *like, size_t bytes)
{
    CUcontext context = NULL, ignored;
    attribute_fn attribute;
    mem_alloc_fn mem_alloc;
    push_fn push;
    pop_fn pop;
    CUdeviceptr made = 0;

    FIND(attribute, cuda("cuPointerGetAttribute"));
    FIND(mem_alloc, cuda("cuMemAlloc_v2"));
    FIND(push, cuda("cuCtxPushCurrent_v2"));
    FIND(pop, cuda("cuCtxPopCurrent_v2"));
    if (attribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, (uintptr_t)like) != CUDA_SUCCESS ||
        push(context) != CUDA_SUCCESS)
        stop("the source's context");
    if (mem_alloc(&made, bytes) != CUDA_SUCCESS)
        stop("no device memory");
    pop(&ignored);
    return (void *)(uintptr_t)made; // NOLINT(performance-no-int-to-ptr)
}

static void take_block(late_t *late, const void *like)
{
    block_t **link = &blocks, *block;

    while (*link != NULL && (*link)->bytes < late->bytes)
        link = &(*link)->next;
    block = *link;
    if (block == NULL) {
        late->room = late->bytes;
        late->copy = device_block(like, late->room);
        return;
    }
    late->room = block->bytes;
    late->copy = block->address;
    *link = block->next;
    free(block);
}

static void give_block(const late_t *late)
{
    block_t *block = calloc(1, sizeof(*block)), **link = &blocks;

    if (block == NULL)
        stop("no memory");
    block->address = late->copy;
    block->bytes = late->room;
    while (*link != NULL && (*link)->bytes < late->room)
        link = &(*link)->next;
    block->next = *link;
    *link = block;
}

static void copy_source(late_t *late, const void *source)
{
    alias_fn alias;

    if (late->type == UCS_MEMORY_TYPE_HOST) {
        late->copy = malloc(late->bytes);
        if (late->copy == NULL)
            stop("no memory");
        memcpy(late->copy, source, late->bytes);
        return;
    }
    FIND(alias, cuda("cuda_emu_alias"));
    if (alias == NULL)
        stop("not on an emulated device");
    take_block(late, source);
    memcpy(alias((uintptr_t)late->copy, late->bytes), alias((uintptr_t)source, late->bytes),
           late->bytes);
}

static void drop_copy(late_t *late)
{
    if (late->type == UCS_MEMORY_TYPE_HOST)
        free(late->copy);
    else
        give_block(late);
    late->copy = NULL;
}

/* ---- delivery ---- */

static void arrived(void *request, ucs_status_t status, void *user_data)
{
    late_t *late = user_data;
    free_fn request_free;

    (void)status;
    FIND(request_free, ucx("ucp_request_free"));
    request_free(request);
    drop_copy(late);
    late->gone = true;
}

static void deliver(late_t *late)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_USER_DATA |
                                                 UCP_OP_ATTR_FIELD_MEMORY_TYPE,
                                 .cb = {.send = arrived},
                                 .user_data = late,
                                 .memory_type = late->type};
    put_fn put;
    void *posted;

    late->sent = true;
    FIND(put, ucx("ucp_put_nbx"));
    posted = put(late->ep, late->copy, late->bytes, late->target, late->rkey, &param);
    if (UCS_PTR_IS_PTR(posted))
        return;
    drop_copy(late);
    late->gone = true;
}

typedef bool (*choice_fn)(const late_t *late, const void *with);

static bool of_endpoint(const late_t *late, const void *ep)
{
    return late->ep == ep;
}

static bool of_key(const late_t *late, const void *rkey)
{
    return late->rkey == rkey;
}

static bool is_due(const late_t *late, const void *now)
{
    return late->due <= *(const uint64_t *)now;
}

/* Those that are chosen, in random order. */
static void deliver_all(choice_fn chosen, const void *with)
{
    for (;;) {
        late_t *next = NULL;
        uint64_t seen = 0;

        for (late_t *late = all; late != NULL; late = late->next)
            if (!late->sent && chosen(late, with) && random_below(++seen) == 0)
                next = late;
        if (next == NULL)
            return;
        deliver(next);
    }
}

/* Frees what nobody needs: arrived, and the caller's request is gone. */
static void sweep(void)
{
    for (late_t **link = &all; *link != NULL;) {
        late_t *late = *link;

        if (late->gone && late->told && late->freed) {
            *link = late->next;
            free(late);
        } else {
            link = &late->next;
        }
    }
}

static late_t *find(const void *request)
{
    late_t *late = all;

    while (late != NULL && (late != request || late->freed))
        late = late->next;
    return late;
}

/* ---- what UCX's users call ---- */

EXPORT ucs_status_ptr_t ucp_put_nbx(ucp_ep_h ep, const void *buffer, size_t count, uint64_t target,
                                    ucp_rkey_h rkey, const ucp_request_param_t *param)
{
    late_t *late = calloc(1, sizeof(*late));

    if (late == NULL)
        stop("no memory");
    *late = (late_t){.next = all,
                     .ep = ep,
                     .rkey = rkey,
                     .target = target,
                     .due = now_us() + random_below(number("LATE_PUTS_US", 2000) + 1),
                     .bytes = count,
                     .type = param->op_attr_mask & UCP_OP_ATTR_FIELD_MEMORY_TYPE
                                 ? param->memory_type
                                 : UCS_MEMORY_TYPE_HOST};
    copy_source(late, buffer);
    all = late;
    held_count++;
    if (random_below(2) == 0 || !(param->op_attr_mask & UCP_OP_ATTR_FIELD_CALLBACK)) {
        late->told = late->freed = true;
        early_count++;
        return NULL;
    }
    late->tell = param->cb.send;
    late->user_data = param->op_attr_mask & UCP_OP_ATTR_FIELD_USER_DATA ? param->user_data : NULL;
    return late;
}

/* Tells one caller, oldest or newest, that its put is done. */
static void tell_one(void)
{
    late_t *next = NULL;

    for (late_t *late = all; late != NULL; late = late->next)
        if (!late->told && !late->freed && (next == NULL || random_below(2) == 0))
            next = late;
    if (next == NULL)
        return;
    next->told = true;
    next->tell(next, UCS_OK, next->user_data);
}

EXPORT unsigned ucp_worker_progress(ucp_worker_h worker)
{
    progress_fn progress;
    uint64_t now = now_us();

    FIND(progress, ucx("ucp_worker_progress"));
    deliver_all(is_due, &now);
    tell_one();
    sweep();
    return progress(worker);
}

EXPORT ucs_status_ptr_t ucp_ep_flush_nbx(ucp_ep_h ep, const ucp_request_param_t *param)
{
    ep_fn flush;

    FIND(flush, ucx("ucp_ep_flush_nbx"));
    if (getenv("LATE_PUTS_NO_FLUSH") == NULL)
        deliver_all(of_endpoint, ep);
    return flush(ep, param);
}

EXPORT void ucp_rkey_destroy(ucp_rkey_h rkey)
{
    rkey_fn destroy;

    FIND(destroy, ucx("ucp_rkey_destroy"));
    deliver_all(of_key, rkey);
    destroy(rkey);
}

EXPORT ucs_status_ptr_t ucp_ep_close_nbx(ucp_ep_h ep, const ucp_request_param_t *param)
{
    bool force = (param->op_attr_mask & UCP_OP_ATTR_FIELD_FLAGS) != 0 &&
                 (param->flags & UCP_EP_CLOSE_FLAG_FORCE) != 0;
    ep_fn close;

    FIND(close, ucx("ucp_ep_close_nbx"));
    if (!force)
        deliver_all(of_endpoint, ep);
    for (late_t *late = all; late != NULL; late = late->next)
        if (late->ep == ep && !late->sent) {
            late->sent = late->gone = true;
            drop_copy(late);
        }
    return close(ep, param);
}

EXPORT void ucp_request_free(void *request)
{
    late_t *late = find(request);
    free_fn request_free;

    if (late != NULL) {
        late->freed = late->told = true;
        return;
    }
    FIND(request_free, ucx("ucp_request_free"));
    request_free(request);
}

EXPORT ucs_status_t ucp_request_check_status(void *request)
{
    late_t *late = find(request);
    ucs_status_t (*check)(void *);

    if (late != NULL)
        return late->told ? UCS_OK : UCS_INPROGRESS;
    FIND(check, ucx("ucp_request_check_status"));
    return check(request);
}

EXPORT ucs_status_t ucp_request_query(void *request, ucp_request_attr_t *attr)
{
    ucs_status_t (*query)(void *, ucp_request_attr_t *);

    if (find(request) != NULL)
        return UCS_ERR_UNSUPPORTED;
    FIND(query, ucx("ucp_request_query"));
    return query(request, attr);
}

static void __attribute__((destructor)) report(void)
{
    if (held_count != 0 && getenv("LATE_PUTS_VERBOSE") != NULL)
        fprintf(stderr, "late_puts: %llu puts held, %llu of them said to be done at once\n",
                (unsigned long long)held_count, (unsigned long long)early_count);
}
