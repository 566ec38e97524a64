/*
 * One callback in Open MPI's progress loop: of high priority while calls run, of low priority
 * after the first device call, because a peer may still need this process's help.
 */
#include "mca/ctl.h"
#include "mca/gdr_mca.h"
#include "mca/request.h"

static struct {
    /* Taken with trylock only: whoever finds it taken, another thread or this one further up the
     * stack, goes away. */
    pthread_mutex_t busy;
    gdr_mca_request_t *active; /* of who holds `busy` */

    pthread_mutex_t lock;
    gdr_mca_request_t *added;
    unsigned calls; /* running */
    bool started;
} progress = {.busy = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER};

static void take_added(void)
{
    gdr_mca_request_t *added, *last;

    pthread_mutex_lock(&progress.lock);
    added = progress.added;
    progress.added = NULL;
    pthread_mutex_unlock(&progress.lock);
    if (added == NULL)
        return;
    for (last = added; last->next_active != NULL; last = last->next_active)
        ;
    last->next_active = progress.active;
    progress.active = added;
}

/* Takes the finished requests out of the active ones. */
static gdr_mca_request_t *drive_all(void)
{
    gdr_mca_request_t *done = NULL;
    gdr_mca_request_t **link = &progress.active;

    while (*link != NULL) {
        gdr_mca_request_t *request = *link;

        if (gdr_request_drive(request)) {
            *link = request->next_active;
            request->next_active = done;
            done = request;
        } else {
            link = &request->next_active;
        }
    }
    return done;
}

static int complete_all(gdr_mca_request_t *done)
{
    int events = 0;

    while (done != NULL) {
        gdr_mca_request_t *next = done->next_active;

        gdr_progress_call_ends();
        gdr_request_complete(done);
        done = next;
        events++;
    }
    return events;
}

static int callback(void)
{
    gdr_engine_t *engine = atomic_load(&gdr_mca.engine);
    gdr_mca_request_t *done;
    int events = 0;

    if (pthread_mutex_trylock(&progress.busy) != 0)
        return 0;
    if (engine != NULL) {
        events += gdr_engine_progress(engine);
        events += gdr_ctl_pml_progress();
    }
    take_added();
    done = drive_all();
    pthread_mutex_unlock(&progress.busy);
    return events + complete_all(done);
}

void gdr_progress_start(void)
{
    pthread_mutex_lock(&progress.lock);
    if (!progress.started && progress.calls == 0)
        opal_progress_register_lp(callback);
    progress.started = true;
    pthread_mutex_unlock(&progress.lock);
}

void gdr_progress_stop(void)
{
    pthread_mutex_lock(&progress.lock);
    if (progress.started || progress.calls > 0)
        opal_progress_unregister(callback);
    progress.started = false;
    pthread_mutex_unlock(&progress.lock);
}

void gdr_progress_call_begins(void)
{
    pthread_mutex_lock(&progress.lock);
    if (progress.calls++ == 0)
        opal_progress_register(callback); /* takes it from the low-priority list */
    pthread_mutex_unlock(&progress.lock);
}

void gdr_progress_call_ends(void)
{
    pthread_mutex_lock(&progress.lock);
    if (--progress.calls == 0) {
        if (progress.started)
            opal_progress_register_lp(callback);
        else
            opal_progress_unregister(callback);
    }
    pthread_mutex_unlock(&progress.lock);
}

void gdr_progress_add(gdr_mca_request_t *request)
{
    gdr_progress_call_begins(); /* first: it may end as soon as it can be seen */
    pthread_mutex_lock(&progress.lock);
    request->next_active = progress.added;
    progress.added = request;
    pthread_mutex_unlock(&progress.lock);
}
