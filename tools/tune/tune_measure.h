/* The measurements. Collective over all ranks; what fails ends the job, after a line. */
#ifndef TUNE_MEASURE_H
#define TUNE_MEASURE_H

#include "tools/tune/tune_figures.h"
#include "tools/tune/tune_rig.h"

/* Kernels and the device's memory, all ranks at once. */
void tune_measure_device(tune_rig_t *rig, tune_figures_t *figures);

/* Words: how long the CPU takes to look at one. */
void tune_measure_flag(tune_rig_t *rig, tune_figures_t *figures);

/* Puts round the rings, inside nodes and between them, where there are such. */
void tune_measure_links(tune_rig_t *rig, tune_figures_t *figures);

/* Adds the figure of that name from the ranks whose value is above 0; rank 0 has it afterwards. */
void tune_measure_gather(const tune_rig_t *rig, tune_figures_t *figures, const char *name,
                         double value, const char *how);

#endif
