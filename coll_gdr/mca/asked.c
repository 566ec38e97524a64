/*
 * Which way did you go? Members that wait in a device call ask the processes that they wait for
 * (engine/gdr_ways.h). The answer is given here, where the question arrives, in processes that have
 * never used a device as well: from whatever thread drives Open MPI, without an engine.
 */
#include "mca/asked.h"
#include "mca/ctl.h"

#include <pthread.h>
#include <stdlib.h>

enum { BUCKETS = 64 };

/* A communicator that this process uses no device for: its priority was 0 when it was made. */
typedef struct absent {
    struct absent *next;
    uint64_t id, nonce;
    int32_t rank;
} absent_t;

static struct {
    pthread_mutex_t lock;
    gdr_asked_t *first[BUCKETS];
    absent_t *absent[BUCKETS]; /* one for each number of a communicator */
    uint64_t passed;           /* by those that were removed */
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

static unsigned bucket_of(uint64_t id)
{
    return (unsigned)((id ^ id >> 32) % BUCKETS);
}

void gdr_asked_add(gdr_asked_t *asked)
{
    gdr_asked_t **bucket = &registry.first[bucket_of(asked->id)];

    pthread_mutex_lock(&registry.lock);
    asked->next = *bucket;
    *bucket = asked;
    pthread_mutex_unlock(&registry.lock);
}

void gdr_asked_remove(gdr_asked_t *asked)
{
    gdr_asked_t **link = &registry.first[bucket_of(asked->id)];

    pthread_mutex_lock(&registry.lock);
    while (*link != NULL && *link != asked)
        link = &(*link)->next;
    if (*link != NULL)
        *link = asked->next;
    registry.passed += gdr_ways_passed(&asked->ways);
    pthread_mutex_unlock(&registry.lock);
}

uint64_t gdr_asked_passed(void)
{
    uint64_t passed;

    pthread_mutex_lock(&registry.lock);
    passed = registry.passed;
    for (unsigned i = 0; i < BUCKETS; i++)
        for (const gdr_asked_t *asked = registry.first[i]; asked != NULL; asked = asked->next)
            passed += gdr_ways_passed(&asked->ways);
    pthread_mutex_unlock(&registry.lock);
    return passed;
}

void gdr_asked_absent(uint64_t id, uint64_t nonce, int32_t rank)
{
    absent_t **bucket = &registry.absent[bucket_of(id)], *absent;

    pthread_mutex_lock(&registry.lock);
    for (absent = *bucket; absent != NULL && absent->id != id; absent = absent->next)
        ;
    if (absent == NULL) {
        absent = calloc(1, sizeof(*absent));
        if (absent != NULL) {
            absent->next = *bucket;
            *bucket = absent;
        }
    }
    if (absent != NULL) {
        absent->id = id;
        absent->nonce = nonce;
        absent->rank = rank;
    }
    pthread_mutex_unlock(&registry.lock);
}

void gdr_asked_shutdown(void)
{
    for (unsigned i = 0; i < BUCKETS; i++) {
        while (registry.absent[i] != NULL) {
            absent_t *absent = registry.absent[i];

            registry.absent[i] = absent->next;
            free(absent);
        }
    }
}

static gdr_asked_t *find(const gdr_ask_t *ask)
{
    gdr_asked_t *asked = registry.first[bucket_of(ask->team)];

    while (asked != NULL && (asked->id != ask->team || asked->nonce != ask->nonce))
        asked = asked->next;
    return asked;
}

static const absent_t *find_absent(const gdr_ask_t *ask)
{
    const absent_t *absent = registry.absent[bucket_of(ask->team)];

    while (absent != NULL && (absent->id != ask->team || absent->nonce != ask->nonce))
        absent = absent->next;
    return absent;
}

/* A communicator that is not made here yet has no answer: the question comes again. */
static bool answer_of(const gdr_ask_t *ask, int proc, int32_t *rank, uint64_t *index)
{
    const absent_t *absent;
    gdr_asked_t *asked;
    bool answer = false;

    pthread_mutex_lock(&registry.lock);
    asked = find(ask);
    if (asked != NULL) {
        answer = gdr_ways_ask(&asked->ways, ask->rank, proc, ask->index);
        *rank = asked->rank;
        *index = ask->index;
    } else if ((absent = find_absent(ask)) != NULL) {
        answer = true;
        *rank = absent->rank;
        *index = GDR_WAY_ALWAYS;
    }
    pthread_mutex_unlock(&registry.lock);
    return answer;
}

bool gdr_asked_take(int proc, const void *message, size_t bytes)
{
    unsigned char reply[GDR_CTL_MAX];
    uint64_t index;
    int32_t rank;
    gdr_ask_t ask;

    if (!gdr_ask_read(message, bytes, &ask))
        return false;
    if (answer_of(&ask, proc, &rank, &index))
        gdr_ctl_pml_answer(proc, reply, gdr_ask_answer(ask.team, ask.nonce, rank, index, reply));
    return true;
}

void gdr_asked_answer_due(gdr_asked_t *asked)
{
    unsigned char reply[GDR_CTL_MAX];
    gdr_question_t question;

    while (gdr_ways_due(&asked->ways, &question))
        gdr_ctl_pml_answer(
            question.proc, reply,
            gdr_ask_answer(asked->id, asked->nonce, asked->rank, question.index, reply));
}
