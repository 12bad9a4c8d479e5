/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_revoked_early.c: what another process has revoked, although this one does not have it yet.
 *
 * It may still be making the communicator, while the other one has made it and is past that. Such a one is revoked when
 * it is there and has the process that told. One that this process has freed already gives its context to others, but
 * to none with that process, which keeps the context of what it has revoked for ever.
 *
 * All is guarded by the first VCI's lock.
 */
#include "mpidimpl.h"
#include "bufenlarge_failure.h"
#include "bufenlarge_members.h"

enum { OWN_MAX = 256, OTHERS_MAX = 64 };

typedef struct {
    uint32_t number, context_id;
    bool waits;                 /* for the communicator to be there */
} early_t;

/* The newest that were told: each takes the place of the oldest. */
typedef struct {
    early_t *const told;
    const unsigned max;
    unsigned next;
} ring_t;

static early_t own_told[OWN_MAX], others_told[OTHERS_MAX];

/* Processes of other jobs cannot push out what the own one has told. */
static ring_t own = {.told = own_told,.max = OWN_MAX }, others = {.told = others_told,.max = OTHERS_MAX };

static bool any;                /* something was told since MPI began */
static unsigned looked;         /* how often the communicators had changed when they were looked through */

static void keep(ring_t * ring, uint32_t number, uint32_t context_id)
{
    /* All who tell it of the own job are members: one of them will do, the last, since the first may have told it of a
     * communicator that is freed. */
    for (early_t * early = ring->told; early < ring->told + ring->max; early++) {
        if (early->waits && early->context_id == context_id && (ring == &own || early->number == number)) {
            early->number = number;
            return;
        }
    }
    ring->told[ring->next] = (early_t) {.number = number,.context_id = context_id,.waits = true };
    ring->next = (ring->next + 1) % ring->max;
}

void MPIDI_BUFENLARGE_revoke_arrived(uint32_t number, uint32_t context_id)
{
    if (MPIDI_BUFENLARGE_members_revoke(number, context_id) || MPIDI_BUFENLARGE_is_revoked(context_id))
        return;
    keep(MPIDI_BUFENLARGE_is_other_job(number) ? &others : &own, number, context_id);
    any = true;
    looked = MPIDI_BUFENLARGE_members_changes() - 1;
    MPIDI_BUFENLARGE_failure_watch(true);
}

static void look_through(ring_t * ring)
{
    for (early_t * early = ring->told; early < ring->told + ring->max; early++) {
        if (early->waits && MPIDI_BUFENLARGE_members_revoke(early->number, early->context_id))
            early->waits = false;
    }
}

void MPIDI_BUFENLARGE_revoked_early_progress(void)
{
    const unsigned changes = MPIDI_BUFENLARGE_members_changes();
    if (!any || looked == changes)
        return;
    looked = changes;
    look_through(&own);
    look_through(&others);
}

void MPIDI_BUFENLARGE_revoked_early_forget(uint32_t number)
{
    for (early_t * early = others.told; early < others.told + others.max; early++)
        early->waits = early->waits && early->number != number;
}

static void clear(ring_t * ring)
{
    memset(ring->told, 0, ring->max * sizeof(*ring->told));
    ring->next = 0;
}

void MPIDI_BUFENLARGE_revoked_early_free(void)
{
    clear(&own);
    clear(&others);
    any = false;
}
