/* What fake_verbs.c has beyond libibverbs. */
#ifndef FAKE_VERBS_H
#define FAKE_VERBS_H

#include <infiniband/verbs.h>

/* Writes by a region's remote address, as a NIC does; EINVAL outside of it. */
int fake_nic_write(struct ibv_mr *mr, uint64_t address, const void *bytes, size_t count);

#endif
