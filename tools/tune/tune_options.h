/* The command line of gdr_tune. Pure: no MPI, no CUDA, no output. */
#ifndef TUNE_OPTIONS_H
#define TUNE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tune_options {
    bool help;
    bool quick;         /* less of everything: is it all there? */
    int node_size;      /* so many ranks in a row count as a node; 0: those on one host */
    int timeout;        /* seconds for all of it */
    int verbose;        /* a gdr_log_level_t */
    const char *output; /* file to write; NULL: standard output. Points into argv, as json does */
    const char *json;   /* or NULL */
} tune_options_t;

/*
 * Fills *options from the command line. 0, or -1 with one line that says what is wrong (and
 * *options unspecified).
 */
int tune_options_parse(int argc, char *const argv[], tune_options_t *options, char *error,
                       size_t error_size);

extern const char tune_options_usage[];

#endif
