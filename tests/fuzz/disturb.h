/* What a program does between its collectives. */
#ifndef GDR_FUZZ_DISTURB_H
#define GDR_FUZZ_DISTURB_H

#include <stdint.h>

/* This rank alone. */
void fz_disturb(uint64_t random);
/* All ranks: messages around the ring, which wildcards receive. */
void fz_messages(uint64_t random);

#endif
