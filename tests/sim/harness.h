/* What the simulated tests share. */
#ifndef SIM_HARNESS_H
#define SIM_HARNESS_H

#include "tests/sim/script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct sim_mode {
    const char *name;
    gdr_flags_mode_t flags;
    gdr_mode_t waits;
    bool blocking;
} sim_mode_t;

static const sim_mode_t sim_modes[] = {
    {"host flags", GDR_FLAGS_HOST, GDR_MODE_AUTO, true},
    {"nonblocking", GDR_FLAGS_AUTO, GDR_MODE_AUTO, false},
    {"stream-ordered", GDR_FLAGS_AUTO, GDR_MODE_AUTO, true},
    {"device flags, host-driven", GDR_FLAGS_DEVICE, GDR_MODE_OFF, true},
};

enum { SIM_MODES = sizeof(sim_modes) / sizeof(sim_modes[0]) };

static inline void sim_tune(sim_world_t *world, const char *algorithm, const sim_mode_t *mode)
{
    int i;

    for (i = 0; i < world->options.nprocs; i++) {
        gdr_engine_config_t *config = &world->procs[i].config;

        snprintf(config->plan.algorithm, sizeof(config->plan.algorithm), "%s", algorithm);
        config->flags = mode->flags;
        config->stream_waits = mode->waits;
    }
}

typedef struct sim_case {
    sim_world_t *world;
    sim_script_t *script;
} sim_case_t;

/* Engines are not started yet. Where windows can be mapped all processes are on one node. */
static inline sim_case_t sim_case(const sim_options_t *options, const char *algorithm,
                                  const sim_mode_t *mode)
{
    sim_case_t c;
    int i;

    c.world = sim_create(options);
    for (i = 0; i < options->nprocs && options->maps; i++)
        c.world->procs[i].config.node = 1;
    c.script = sim_script_new(c.world);
    sim_tune(c.world, algorithm, mode);
    return c;
}

/* Runs, checks, frees. `what` names the case where it fails. */
static inline bool sim_case_end(sim_case_t *c, const char *what)
{
    bool ok = sim_script_run(c->script);
    sim_world_t *world = c->world;

    sim_script_free(c->script);
    sim_finish(world);
    ok = ok && world->failure[0] == 0;
    if (!ok)
        print_message("%s, seed %llu: %s\n", what, (unsigned long long)world->options.seed,
                      world->failure);
    sim_destroy(world);
    return ok;
}

static inline int sim_add_call(sim_case_t *c, int team, uint64_t count, bool blocking)
{
    static const gdr_type_t types[] = {GDR_TYPE_FLOAT32, GDR_TYPE_INT32, GDR_TYPE_INT64,
                                       GDR_TYPE_FLOAT64};
    int n = c->script->ncalls;
    sim_call_t call = {.team = team,
                       .count = count,
                       .op = n % 3 == 2 ? GDR_OP_MAX : GDR_OP_SUM,
                       .type = types[n % 4],
                       .in_place = n % 2 == 1,
                       .blocking = blocking};

    return sim_script_call(c->script, &call);
}

#endif
