/*
 * Members of a team that this process has to do with, its peers in some schedule: a hash table, so
 * that a team's state does not grow with its ranks.
 */
#include "engine/gdr_engine_priv.h"

#include <stdlib.h>

enum { FIRST_BITS = 4 };

static uint32_t place(const gdr_team_t *team, int32_t rank)
{
    return ((uint32_t)rank * 0x9e3779b1u) >> (32 - team->member_bits);
}

static gdr_member_t **slot_of(const gdr_team_t *team, int32_t rank)
{
    uint32_t mask = (1u << team->member_bits) - 1, i = place(team, rank);

    while (team->members[i] != NULL && team->members[i]->rank != rank)
        i = (i + 1) & mask;
    return &team->members[i];
}

const gdr_member_t *gdr_member_look(const gdr_team_t *team, int32_t rank)
{
    static const gdr_member_t nobody;
    const gdr_member_t *found = NULL;

    if (team->members != NULL)
        found = *slot_of(team, rank);
    return found != NULL ? found : &nobody;
}

/* At most half of the places are taken. */
static bool grow(gdr_team_t *team)
{
    gdr_member_t **old = team->members;
    uint32_t places = old != NULL ? 1u << team->member_bits : 0, i;
    gdr_member_t **made;

    if (2 * (team->nmembers + 1) <= places)
        return true;
    made = calloc(old != NULL ? 2 * (size_t)places : 1u << FIRST_BITS, sizeof(gdr_member_t *));
    if (made == NULL)
        return false;
    team->member_bits = old != NULL ? team->member_bits + 1 : FIRST_BITS;
    team->members = made;
    for (i = 0; i < places; i++) {
        if (old[i] != NULL)
            *slot_of(team, old[i]->rank) = old[i];
    }
    free(old);
    return true;
}

gdr_member_t *gdr_member_get(gdr_team_t *team, int32_t rank)
{
    gdr_member_t **slot;

    if (!grow(team))
        return NULL;
    slot = slot_of(team, rank);
    if (*slot != NULL)
        return *slot;
    *slot = calloc(1, sizeof(**slot));
    if (*slot == NULL)
        return NULL;
    (*slot)->rank = rank;
    team->nmembers++;
    return *slot;
}

void gdr_members_forget(gdr_team_t *team)
{
    uint32_t places = team->members != NULL ? 1u << team->member_bits : 0, i;

    for (i = 0; i < places; i++) {
        gdr_member_t *member = team->members[i];

        if (member == NULL)
            continue;
        member->pushed = member->known = member->ready = false;
        member->begun = 0;
    }
}

void gdr_members_free(gdr_team_t *team)
{
    uint32_t places = team->members != NULL ? 1u << team->member_bits : 0, i;

    for (i = 0; i < places; i++)
        free(team->members[i]);
    free(team->members);
}
