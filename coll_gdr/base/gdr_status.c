#include "base/gdr_status.h"

const char *gdr_status_string(gdr_status_t status)
{
    switch (status) {
    case GDR_OK:
        return "ok";
    case GDR_INPROGRESS:
        return "in progress";
    case GDR_ERR_NO_MEMORY:
        return "out of memory";
    case GDR_ERR_INVALID:
        return "invalid argument";
    case GDR_ERR_UNSUPPORTED:
        return "not supported here";
    case GDR_ERR_UNREACHABLE:
        return "peer unreachable";
    case GDR_ERR_DEVICE:
        return "CUDA driver error";
    case GDR_ERR_NET:
        return "network error";
    case GDR_ERR_NO_RESOURCE:
        return "no lane or window left";
    case GDR_ERR_DECLINED:
        return "declined by a member of the communicator";
    case GDR_ERR_VERSION:
        return "library version cannot serve";
    case GDR_ERR_STALE:
        return "CUDA context is gone";
    case GDR_ERR_ABORTED:
        return "call abandoned";
    case GDR_ERR_MIXED:
        return "served in host memory";
    }
    return "unknown status";
}
