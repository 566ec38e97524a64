/* Derived types and a user's two operations on them. */
#ifndef GDR_FUZZ_USER_TYPES_H
#define GDR_FUZZ_USER_TYPES_H

#include "tests/fuzz/element.h"

void fz_user_open(void);
void fz_user_close(void);
const fz_type_t *fz_user_types(size_t *n);
MPI_Op fz_user_op(fz_op_class_t class);
/* One unit: a op b. */
uint64_t fz_user_combine(fz_op_class_t class, int bytes, uint64_t a, uint64_t b);
/* Little-endian, as every GPU's host. */
uint64_t fz_user_load(const char *at, int bytes);
void fz_user_store(char *at, int bytes, uint64_t value);

#endif
