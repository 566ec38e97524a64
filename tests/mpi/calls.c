#include "calls.h"

#include "calls_priv.h"
#include "harness.h"

#include <string.h>

/* ---- data ----------------------------------------------------------------------------------- */

/* Number k of element i that process `from` gives to `to` (both of the world; -1: to all). */
static int value(const call_t *c, int from, int to, int i, int k)
{
    return 1 + c->round * 10000000 + from * 100000 + (to + 1) * 1000 + i * 10 + k;
}

/* What a process gives to a reduction: one digit behind a leading 1, see join_ints(). */
int digit(const call_t *c, int from, int i, int k)
{
    return 8 | ((from + 3 * i + 5 * k + c->round) & 7);
}

static int joined(int left, int right)
{
    int bits = 0;

    while (right >> (bits + 1) != 0)
        bits++;
    return left << bits | (right & ((1 << bits) - 1));
}

static const layout_t *join_of;

void join_layout(const layout_t *layout)
{
    join_of = layout;
}

void join_ints(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        for (int k = 0; k < join_of->ints; k++) {
            int left, right;
            char *to = (char *)inout + i * join_of->extent + join_of->at[k];

            memcpy(&left, (char *)in + i * join_of->extent + join_of->at[k], 4);
            memcpy(&right, to, 4);
            left = joined(left, right);
            memcpy(to, &left, 4);
        }
}

/* The reduction of what peers[0 ... n-1] give. */
int reduced(const call_t *c, int n, int i, int k)
{
    int result = digit(c, c->peers[0], i, k);

    for (int p = 1; p < n; p++) {
        int next = digit(c, c->peers[p], i, k);

        result = c->op == MPI_SUM ? result + next : joined(result, next);
    }
    return result;
}

const layout_t *layout_of(const call_t *c)
{
    return &layouts[c->layout];
}

/* `count` elements from `from` to `to` at a place of an image. */
void holds(call_t *c, image_t *image, int element, int count, int from, int to)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < layout_of(c)->ints; k++)
            image_holds(image, layout_of(c), 0, element + i, k, value(c, from, to, i, k));
}

void gets(call_t *c, int element, int count, int from, int to)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < layout_of(c)->ints; k++)
            image_gets(c->recv, layout_of(c), 0, element + i, k, value(c, from, to, i, k));
}

bool is_root(const call_t *c)
{
    return c->inter ? c->root_here && c->rank == c->root : c->rank == c->root;
}

/* Whether it gives to or gets from the root: not in the root's group of an inter-communicator. */
bool is_leaf(const call_t *c)
{
    return !c->inter || !c->root_here;
}

/* The root as a process of the world, for a leaf. */
int the_root(const call_t *c)
{
    return c->peers[c->root];
}

/* The argument `root`. */
int root_argument(const call_t *c)
{
    if (!c->inter || !c->root_here)
        return c->root;
    return c->rank == c->root ? MPI_ROOT : MPI_PROC_NULL;
}

const void *send_buffer(call_t *c)
{
    return c->in_place ? MPI_IN_PLACE : image_buffer(c->send);
}

/* Where a call finds its own contribution of an allgather or gather. */
void own(call_t *c, int place, int count)
{
    if (c->in_place)
        holds(c, c->recv, place, count, c->me, -1);
    else
        holds(c, c->send, 0, count, c->me, -1);
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* Elements that process p (of the world) gives to everybody, and that `from` gives to `to`. */
int given(int p)
{
    return (p + 4) % 3; /* -1: nobody */
}

static int given_to(int from, int to)
{
    return (from + 2 * to + 3) % 3;
}

/* Places with gaps, in falling order, the last ones below the buffer's address. */
int falling(int n, int i)
{
    return (n - 1 - i) * SLOT - BELOW;
}

static int rising(int i)
{
    return i * SLOT - BELOW;
}

void list_received(call_t *c, int n, const int *from)
{
    for (int i = 0; i < n; i++) {
        c->rcounts[i] = given(from[i]);
        c->rdispls[i] = falling(n, i);
    }
}

void list_exchanged(call_t *c, int outs, const int *to, int ins, const int *from)
{
    for (int i = 0; i < outs; i++) {
        c->scounts[i] = given_to(c->me, to[i]);
        c->sdispls[i] = falling(outs, i);
    }
    for (int i = 0; i < ins; i++) {
        c->rcounts[i] = given_to(from[i], c->me);
        c->rdispls[i] = rising(i);
    }
}

/* Types that differ from peer to peer: ints, or this call's layout. */
static int layout_between(const call_t *c, int a, int b)
{
    return (a + b) % 2 == 0 ? c->layout : 0;
}

void list_types(call_t *c, int outs, const int *to, int ins, const int *from)
{
    list_exchanged(c, outs, to, ins, from);
    for (int i = 0; i < outs; i++) {
        c->stypes[i] = layouts[layout_between(c, c->me, to[i])].type;
        c->sdispls[i] = (int)(c->sfar[i] = (outs - 1 - i) * SLOT_BYTES - SLOT_BYTES);
    }
    for (int i = 0; i < ins; i++) {
        c->rtypes[i] = layouts[layout_between(c, c->me, from[i])].type;
        c->rdispls[i] = (int)(c->rfar[i] = i * SLOT_BYTES - SLOT_BYTES);
    }
}

/* In place, what a process gives to another lies where it gets what that one gives. */
image_t *given_in(call_t *c)
{
    return c->in_place ? c->recv : c->send;
}

/* One piece with a type of its own, at a distance in bytes. */
void piece(call_t *c, image_t *image, bool before, ptrdiff_t bytes, int count, int from, int to)
{
    const layout_t *layout = &layouts[layout_between(c, from, to)];

    for (int i = 0; i < count; i++)
        for (int k = 0; k < layout->ints; k++)
            if (before)
                image_holds(image, layout, bytes, i, k, value(c, from, to, i, k));
            else
                image_gets(image, layout, bytes, i, k, value(c, from, to, i, k));
}

/* ---- the list ------------------------------------------------------------------------------- */

#define ENTRY(name, traits) {#name, traits, fill_##name, issue_##name},

const kind_t kinds[] = {KINDS(ENTRY)};

const int n_kinds = sizeof(kinds) / sizeof(kinds[0]);
