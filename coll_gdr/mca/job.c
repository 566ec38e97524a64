#include "mca/coll.h"

#include <stdlib.h>
#include <string.h>

/* A copy of a list, kept in the job; *failed: no memory. */
static void *keep(gdr_job_t *job, const void *list, int n, size_t bytes, bool *failed)
{
    void *copy;

    if (list == NULL || n == 0)
        return NULL;
    copy = malloc((size_t)n * bytes);
    if (copy == NULL) {
        *failed = true;
        return NULL;
    }
    memcpy(copy, list, (size_t)n * bytes);
    job->lists[job->kept++] = copy;
    return copy;
}

/* Lists that do not count here (n is 0) stay what they are. */
static bool keep_side(gdr_job_t *job, gdr_side_t *side, int n)
{
    bool failed = false;

    if (n == 0)
        return true;
    side->counts = keep(job, side->counts, n, sizeof(*side->counts), &failed);
    side->displs = keep(job, side->displs, n, sizeof(*side->displs), &failed);
    side->far = keep(job, side->far, n, sizeof(*side->far), &failed);
    side->types = keep(job, side->types, n, sizeof(void *), &failed);
    return !failed;
}

gdr_job_t *gdr_job_new(gdr_coll_t coll, const gdr_coll_args_t *args,
                       struct ompi_communicator_t *comm, bool staged)
{
    gdr_job_t *job = calloc(1, sizeof(*job));
    gdr_coll_args_t own = *args;
    gdr_coll_place_t place;

    if (job == NULL)
        return NULL;
    job->coll = coll;
    gdr_coll_find_place(coll, args, comm, &place);
    if (!keep_side(job, &own.send, gdr_coll_send_lists(coll, &place)) ||
        !keep_side(job, &own.recv, gdr_coll_recv_lists(coll, &place))) {
        gdr_job_free(job);
        return NULL;
    }
    job->mirror.user = job->mirror.host = own;
    if (staged)
        gdr_mirror_look(&job->mirror, coll, &own, comm);
    return job;
}

int gdr_job_post(gdr_job_t *job, gdr_mca_module_t *module, ompi_request_t **out)
{
    return gdr_coll_ops(job->coll)->post(module, &job->mirror.host, out);
}

int gdr_job_end(gdr_job_t *job, int rc)
{
    return rc == OMPI_SUCCESS ? gdr_mirror_up(&job->mirror) : rc;
}

void gdr_job_free(gdr_job_t *job)
{
    if (job == NULL)
        return;
    gdr_mirror_close(&job->mirror);
    for (int i = 0; i < job->kept; i++)
        free(job->lists[i]);
    free(job);
}
