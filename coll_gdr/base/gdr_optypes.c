#include "base/gdr_optypes.h"

enum type_class {
    CLASS_INTEGER,
    CLASS_FLOATING,
    CLASS_COMPLEX,
    CLASS_LOGICAL,
    CLASS_BYTE,
    CLASS_PAIR
};

static const char *const op_names[GDR_OP_COUNT] = {
#define GDR_OP(ID, name) #name,
#include "base/optypes.def"
};

static const struct {
    const char *name;
    size_t bytes;
    enum type_class class;
} types[GDR_TYPE_COUNT] = {
#define GDR_TYPE(ID, name, ctype, bytes, class) {#name, bytes, CLASS_##class},
#include "base/optypes.def"
};

static const unsigned class_ops[] = {
    [CLASS_INTEGER] = 0
#define GDR_CLASS_OP(class, op) | (CLASS_##class == CLASS_INTEGER ? 1u << GDR_OP_##op : 0u)
#include "base/optypes.def"
    ,
    [CLASS_FLOATING] = 0
#define GDR_CLASS_OP(class, op) | (CLASS_##class == CLASS_FLOATING ? 1u << GDR_OP_##op : 0u)
#include "base/optypes.def"
    ,
    [CLASS_COMPLEX] = 0
#define GDR_CLASS_OP(class, op) | (CLASS_##class == CLASS_COMPLEX ? 1u << GDR_OP_##op : 0u)
#include "base/optypes.def"
    ,
    [CLASS_LOGICAL] = 0
#define GDR_CLASS_OP(class, op) | (CLASS_##class == CLASS_LOGICAL ? 1u << GDR_OP_##op : 0u)
#include "base/optypes.def"
    ,
    [CLASS_BYTE] = 0
#define GDR_CLASS_OP(class, op) | (CLASS_##class == CLASS_BYTE ? 1u << GDR_OP_##op : 0u)
#include "base/optypes.def"
    ,
    [CLASS_PAIR] = 0
#define GDR_CLASS_OP(class, op) | (CLASS_##class == CLASS_PAIR ? 1u << GDR_OP_##op : 0u)
#include "base/optypes.def"
};

const char *gdr_op_name(gdr_op_t op)
{
    return (unsigned)op < GDR_OP_COUNT ? op_names[op] : "?";
}

const char *gdr_type_name(gdr_type_t type)
{
    return (unsigned)type < GDR_TYPE_COUNT ? types[type].name : "?";
}

size_t gdr_type_bytes(gdr_type_t type)
{
    return (unsigned)type < GDR_TYPE_COUNT ? types[type].bytes : 0;
}

bool gdr_optype_supported(gdr_op_t op, gdr_type_t type)
{
    if ((unsigned)op >= GDR_OP_COUNT || (unsigned)type >= GDR_TYPE_COUNT)
        return false;
    return (class_ops[types[type].class] >> op & 1u) != 0;
}
