#include "ucx_glue/ucx.h"

#include <stdio.h>
#include <string.h>

/* Whether `name` is an item of the comma-separated list. */
static bool has_item(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *item = list; *item != '\0';) {
        size_t here = strcspn(item, ",");
        if (here == length && strncmp(item, name, length) == 0)
            return true;
        item += here;
        item += *item == ',';
    }
    return false;
}

bool gdr_ucx_tls_has_posix(const char *tls)
{
    static const char *const names[] = {"posix", "sm", "shm", "mm"};
    bool excludes = tls != NULL && *tls == '^';

    if (tls == NULL || *tls == '\0' || has_item(tls, "all"))
        return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (has_item(tls + excludes, names[i]))
            return !excludes;
    return excludes;
}

static bool is_cuda(const char *item, size_t length)
{
    static const char *const names[] = {"cuda", "cuda_copy", "cuda_ipc"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (length == strlen(names[i]) && strncmp(item, names[i], length) == 0)
            return true;
    return false;
}

/* "^a,cuda,b" -> "^a,b"; "^cuda" -> "all". The value is never longer than the list or "all". */
static void drop_cuda(const char *list, char *value)
{
    char *end = value;

    for (const char *item = list + 1; *item != '\0';) {
        size_t length = strcspn(item, ",");
        if (!is_cuda(item, length)) {
            *end = end == value ? '^' : ',';
            end++;
            memcpy(end, item, length);
            end += length;
        }
        item += length;
        item += *item == ',';
    }
    *end = '\0';
    if (end == value)
        strcpy(value, "all");
}

static gdr_ucx_tls_t fix_exclusion(const char *tls, char *value)
{
    if (!has_item(tls + 1, "cuda") && !has_item(tls + 1, "cuda_copy"))
        return has_item(tls + 1, "cuda_ipc") ? GDR_UCX_TLS_NO_IPC : GDR_UCX_TLS_KEEP;
    drop_cuda(tls, value);
    return GDR_UCX_TLS_REPLACE;
}

gdr_ucx_tls_t gdr_ucx_tls_fix(const char *tls, char *value, size_t bytes)
{
    if (tls == NULL || *tls == '\0')
        return GDR_UCX_TLS_KEEP;
    if (strlen(tls) + sizeof(",cuda_copy,cuda_ipc") > bytes)
        return GDR_UCX_TLS_TOO_LONG;
    if (*tls == '^')
        return fix_exclusion(tls, value);
    if (has_item(tls, "all") || has_item(tls, "cuda"))
        return GDR_UCX_TLS_KEEP;
    if (has_item(tls, "cuda_copy"))
        return has_item(tls, "cuda_ipc") ? GDR_UCX_TLS_KEEP : GDR_UCX_TLS_NO_IPC;
    snprintf(value, bytes, "%s,cuda_copy%s", tls, has_item(tls, "cuda_ipc") ? "" : ",cuda_ipc");
    return GDR_UCX_TLS_REPLACE;
}
