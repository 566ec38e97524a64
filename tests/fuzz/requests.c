/* Requests are made elsewhere: NOLINTBEGIN(clang-analyzer-optin.mpi*) */
#include "tests/fuzz/requests.h"

#include "tests/mpi/harness.h"

#include <stdio.h>

enum { WAIT, TEST, WAITALL, WAITANY, WAITSOME, TESTSOME, WAYS };

static const char *const way_names[WAYS] = {"MPI_Wait",    "MPI_Test",     "MPI_Waitall",
                                            "MPI_Waitany", "MPI_Waitsome", "MPI_Testsome"};

fz_call_t *fz_requests_place(fz_requests_t *all)
{
    for (int i = 0; i < FZ_OUTSTANDING; i++)
        if (!all->used[i])
            return &all->call[i];
    t_fatal("more requests than there may be");
}

static void note(fz_requests_t *all, long number, uint64_t hash)
{
    fz_results_t *results = &all->results;

    for (int i = 0; i < results->n; i++)
        if (results->number[i] == number)
            results->hash[i] = hash;
}

static void expect_note(fz_requests_t *all, long number)
{
    fz_results_t *results = &all->results;

    results->number[results->n] = number;
    results->hash[results->n++] = 0;
}

void fz_requests_posted(fz_requests_t *all, fz_call_t *call)
{
    all->used[call - all->call] = true;
    call->active = true;
    expect_note(all, call->step.number);
}

void fz_requests_blocking(fz_requests_t *all, fz_call_t *call)
{
    expect_note(all, call->step.number);
    note(all, call->step.number, fz_call_check(call));
    fz_call_end(call);
}

/* A persistent one that will start again is kept. */
static void completed(fz_requests_t *all, int i)
{
    fz_call_t *call = &all->call[i];

    note(all, call->step.number, fz_call_check(call));
    call->active = false;
    if (call->starts > 0)
        return;
    fz_call_end(call);
    all->used[i] = false;
}

/* Active ones in an order of this rank's own. */
static int gather(const fz_requests_t *all, uint64_t random, int *index)
{
    int n = 0;

    for (int i = 0; i < FZ_OUTSTANDING; i++)
        if (all->used[i] && all->call[i].active)
            index[n++] = i;
    for (int i = n; i > 1; i--) {
        int j = (int)(fz_hash(random, (uint64_t)i, 0) % (uint64_t)i), kept = index[i - 1];

        index[i - 1] = index[j];
        index[j] = kept;
    }
    return n;
}

static void say(fz_requests_t *all, int way, int n, const int *index)
{
    char text[100] = "";
    int at = 0;

    for (int i = 0; i < n; i++)
        at += snprintf(text + at, sizeof(text) - (size_t)at, " %ld",
                       all->call[index[i]].step.number);
    t_case("%s of calls%s; the first is %s", way_names[way], text,
           n > 0 ? all->call[index[0]].words : "none");
}

/* Completes n requests and checks each as soon as it is known to be complete. */
static void complete(fz_requests_t *all, int way, int n, const int *index)
{
    MPI_Request requests[FZ_OUTSTANDING];
    int done[FZ_OUTSTANDING], count = 0, flag;

    for (int i = 0; i < n; i++)
        requests[i] = all->call[index[i]].request;
    for (int left = n; left > 0; left -= count) {
        say(all, way, n, index);
        count = 1;
        done[0] = n - left;
        if (way == WAIT) {
            MPI_Wait(&requests[done[0]], MPI_STATUS_IGNORE);
        } else if (way == TEST) {
            for (flag = 0; !flag;)
                MPI_Test(&requests[done[0]], &flag, MPI_STATUS_IGNORE);
        } else if (way == WAITALL) {
            MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
            for (count = 0; count < n; count++)
                done[count] = count;
        } else if (way == WAITANY) {
            MPI_Waitany(n, requests, done, MPI_STATUS_IGNORE);
        } else if (way == WAITSOME) {
            MPI_Waitsome(n, requests, &count, done, MPI_STATUSES_IGNORE);
        } else {
            for (count = 0; count == 0;)
                MPI_Testsome(n, requests, &count, done, MPI_STATUSES_IGNORE);
        }
        if (!t_check(count >= 0 && count <= left, "%s completed %d", way_names[way], count))
            t_fatal("there is no sense in going on");
        for (int k = 0; k < count; k++) {
            all->call[index[done[k]]].request = requests[done[k]];
            requests[done[k]] = MPI_REQUEST_NULL; /* a persistent one is freed or kept there */
            completed(all, index[done[k]]);
        }
    }
}

void fz_requests_some(fz_requests_t *all, uint64_t random)
{
    int index[FZ_OUTSTANDING], n = gather(all, random, index), flag;
    int way = (int)(random / 5 % WAYS);

    if (n == 0)
        return;
    if (random % 5 == 0) { /* one look, which may complete it or not */
        fz_call_t *call = &all->call[index[0]];

        say(all, TEST, 1, index);
        MPI_Test(&call->request, &flag, MPI_STATUS_IGNORE);
        if (flag)
            completed(all, index[0]);
        return;
    }
    complete(all, way, 1 + (int)(random / 64 % (uint64_t)n), index);
}

/* In the order of calls on every rank, whatever places they have; whether there was one. */
static bool restart(fz_requests_t *all)
{
    bool found = false;

    for (long after = -1;;) {
        fz_call_t *next = NULL;

        for (int i = 0; i < FZ_OUTSTANDING; i++) {
            fz_call_t *call = &all->call[i];

            if (all->used[i] && call->step.number > after &&
                (next == NULL || call->step.number < next->step.number))
                next = call;
        }
        if (next == NULL)
            return found;
        fz_call_restart(next);
        next->active = found = true;
        after = next->step.number;
    }
}

void fz_requests_all(fz_requests_t *all, uint64_t random)
{
    int index[FZ_OUTSTANDING], n;

    do {
        n = gather(all, random, index);
        complete(all, (int)(random % WAYS), n, index);
        random = fz_hash(random, 1, 2);
    } while (restart(all));
}

/* Open MPI's own nonblocking collectives do not survive their communicator. */
static void finish_host(fz_requests_t *all, int comm)
{
    for (int i = 0; i < FZ_OUTSTANDING; i++) {
        fz_call_t *call = &all->call[i];

        if (!all->used[i] || !call->active || call->step.comm != comm)
            continue;
        if ((call->send_image != NULL && call->send.kind >= FZ_FIRST_HOST) ||
            (call->recv_image != NULL && call->recv.kind >= FZ_FIRST_HOST))
            complete(all, WAIT, 1, &i);
    }
}

void fz_requests_leave(fz_requests_t *all, int comm)
{
    finish_host(all, comm);
    for (int i = 0; i < FZ_OUTSTANDING; i++) {
        fz_call_t *call = &all->call[i];

        if (!all->used[i] || call->step.comm != comm || call->step.way != FZ_PERSISTENT)
            continue;
        call->starts = 0;
        if (!call->active) {
            fz_call_end(call);
            all->used[i] = false;
        }
    }
}
/* NOLINTEND(clang-analyzer-optin.mpi*) */
