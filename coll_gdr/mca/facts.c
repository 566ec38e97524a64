/*
 * What every process says about itself before MPI_Init ends, and what is made of it: with one
 * member that lacks this component, or will not use it, a communicator stages and never hangs.
 */
#include "mca/gdr_mca.h"

#include <stdlib.h>
#include <string.h>

#define FACTS_KEY "coll.gdr.facts"

typedef struct facts {
    uint32_t magic;
    uint32_t abi;    /* of control messages and schedules */
    uint32_t usable; /* priority above 0 */
    uint32_t reserved;
    uint64_t params; /* gdr_params_hash */
    char version[16];
} facts_t;

enum { FACTS_MAGIC = 0x67647261, FACTS_ABI = 2 };

/* What a process of this job has said does not change, and PMIx loses some memory whenever it is
 * asked: 72 bytes, seen with Debian 13's. */
typedef enum answer { UNKNOWN, USABLE, UNUSABLE } answer_t;

static struct {
    pthread_mutex_t lock;
    unsigned char *answers; /* [n], answer_t by number in the job */
    size_t n;
} members = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void own_facts(facts_t *facts)
{
    memset(facts, 0, sizeof(*facts));
    facts->magic = FACTS_MAGIC;
    facts->abi = FACTS_ABI;
    facts->usable = gdr_mca.params.priority > 0;
    facts->params = gdr_params_hash(&gdr_mca.params);
    strncpy(facts->version, GDR_VERSION, sizeof(facts->version) - 1);
}

int gdr_facts_publish(void)
{
    facts_t facts;

    if (!gdr_ompi_can_publish())
        return OMPI_SUCCESS;
    own_facts(&facts);
    return gdr_ompi_publish(FACTS_KEY, &facts, sizeof(facts));
}

static bool ask(const opal_process_name_t *name)
{
    facts_t own, theirs;
    void *bytes = NULL;
    size_t size = 0;
    bool ok = false;

    own_facts(&own);
    if (gdr_ompi_read(FACTS_KEY, name, &bytes, &size) != OMPI_SUCCESS || bytes == NULL) {
        gdr_info(&gdr_mca.log, "rank %u has no coll/gdr", (unsigned)name->vpid);
        return false;
    }
    if (size != sizeof(theirs)) {
        gdr_info(&gdr_mca.log, "rank %u has another version of coll/gdr", (unsigned)name->vpid);
        goto out;
    }
    memcpy(&theirs, bytes, sizeof(theirs));
    theirs.version[sizeof(theirs.version) - 1] = '\0';
    if (theirs.magic != own.magic || theirs.abi != own.abi ||
        strcmp(theirs.version, own.version) != 0)
        gdr_info(&gdr_mca.log, "rank %u has coll/gdr %s, this is %s", (unsigned)name->vpid,
                 theirs.version, own.version);
    else if (!theirs.usable)
        gdr_info(&gdr_mca.log, "rank %u has coll_gdr_priority 0", (unsigned)name->vpid);
    else if (theirs.params != own.params)
        gdr_warn(&gdr_mca.log, "rank %u has other coll_gdr parameters than this rank",
                 (unsigned)name->vpid);
    else
        ok = true;
out:
    free(bytes);
    return ok;
}

/* Its place in the table; NULL: no memory. Under the lock. */
static unsigned char *place_of(size_t number)
{
    size_t n = number + 1 > 2 * members.n ? number + 1 : 2 * members.n;
    unsigned char *answers;

    if (number < members.n)
        return &members.answers[number];
    answers = realloc(members.answers, n);
    if (answers == NULL)
        return NULL;
    memset(answers + members.n, UNKNOWN, n - members.n);
    members.answers = answers;
    members.n = n;
    return &answers[number];
}

bool gdr_facts_member_ok(const opal_process_name_t *name)
{
    unsigned char *answer;
    bool ok;

    pthread_mutex_lock(&members.lock);
    answer = place_of(name->vpid);
    if (answer != NULL && *answer != UNKNOWN) {
        ok = *answer == USABLE;
    } else {
        ok = ask(name);
        if (answer != NULL)
            *answer = ok ? USABLE : UNUSABLE;
    }
    pthread_mutex_unlock(&members.lock);
    return ok;
}

void gdr_facts_shutdown(void)
{
    free(members.answers);
    members.answers = NULL;
    members.n = 0;
}
