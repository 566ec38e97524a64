/* Opens UCX by way of gdr_ucx.so, as the component does. */
#ifndef TUNE_GLUE_H
#define TUNE_GLUE_H

#include "base/gdr_log.h"
#include "engine/gdr_net.h"

/* 0, or -1 after a line in the log. Once. */
int tune_glue_open(const gdr_log_t *log, const gdr_net_ops_t **ops, gdr_net_t **net);

/* Version of the UCX in this process; "unknown". */
void tune_glue_ucx(char *text, size_t size);

#endif
