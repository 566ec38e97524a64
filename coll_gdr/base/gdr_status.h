/* Status codes of every room. Only mca/ maps them to Open MPI's. */
#ifndef GDR_STATUS_H
#define GDR_STATUS_H

typedef enum gdr_status {
    GDR_OK = 0,
    GDR_INPROGRESS = 1,       /* posted; ask again */
    GDR_ERR_NO_MEMORY = -1,   /* host or device allocation failed */
    GDR_ERR_INVALID = -2,     /* a caller's argument */
    GDR_ERR_UNSUPPORTED = -3, /* right call, but this machine, type or size cannot */
    GDR_ERR_UNREACHABLE = -4, /* no usable path to a peer */
    GDR_ERR_DEVICE = -5,      /* the CUDA driver reported an error */
    GDR_ERR_NET = -6,         /* UCX reported an error */
    GDR_ERR_NO_RESOURCE = -7, /* no lane, or the window budget is used up */
    GDR_ERR_DECLINED = -8,    /* the members agreed not to take the device path */
    GDR_ERR_VERSION = -9,     /* a library of a version that cannot serve */
    GDR_ERR_STALE = -10,      /* made in a CUDA context that no longer exists */
    GDR_ERR_ABORTED = -11,    /* the call was abandoned; the receive buffer is untouched */
    GDR_ERR_MIXED = -12       /* this call is a host call, on all members; the next may be served */
} gdr_status_t;

/* A short lower-case text, never NULL; static storage. Any thread. */
const char *gdr_status_string(gdr_status_t status);

#endif
