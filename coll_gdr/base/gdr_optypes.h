/* Operations and element types that gdr serves on the device; generated from optypes.def. */
#ifndef GDR_OPTYPES_H
#define GDR_OPTYPES_H

#include <stdbool.h>
#include <stddef.h>

typedef enum gdr_op {
#define GDR_OP(ID, name) GDR_OP_##ID,
#include "base/optypes.def"
    GDR_OP_COUNT
} gdr_op_t;

typedef enum gdr_type {
#define GDR_TYPE(ID, name, ctype, bytes, class) GDR_TYPE_##ID,
#include "base/optypes.def"
    GDR_TYPE_COUNT
} gdr_type_t;

/* Names as in the table ("sum", "float32"), or "?" for a value outside it. */
const char *gdr_op_name(gdr_op_t op);
const char *gdr_type_name(gdr_type_t type);

/* Bytes of one element (the extent; pair types include their padding); 0 outside the table. */
size_t gdr_type_bytes(gdr_type_t type);

/* Whether MPI defines `op` on `type` and a kernel exists for it. */
bool gdr_optype_supported(gdr_op_t op, gdr_type_t type);

#endif
