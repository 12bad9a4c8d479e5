/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_forget.c: processes of other jobs that have left. A server may be connected to by thousands, one after the
 * other. What it keeps of a process ends when no communicator of MPICH's has the process and its connection has ended;
 * the process's number is then given to another.
 */
#include "mpidimpl.h"
#include "bufenlarge_spawn.h"
#include "bufenlarge_failure.h"
#include "bufenlarge_unexpected.h"
#include "utlist.h"

/* After so many lost connections to processes of other jobs the table is looked through, also when nobody connects. */
#define LOST_MAX 16

/* Guarded by the first VCI's lock. */
static uint32_t numbers_end;    /* behind the last number of a process of another job */
static uint32_t lost_count;     /* since the table was looked through */

void MPIDI_BUFENLARGE_forget_note(uint32_t number)
{
    numbers_end = MPL_MAX(numbers_end, number + 1);
}

/* Finds the place of a process of another job in MPICH's address tables. */
bool MPIDI_BUFENLARGE_find_place(uint32_t number, int *table_p, int *index_p)
{
    for (int i = 1; i < MPIDI_BUFENLARGE_table_count(); i++) {
        const MPIDI_av_table_t *table = MPIDI_BUFENLARGE_table(i);
        for (int index = 0; table && index < table->size; index++) {
            if (table->table[index].netmod.bufenlarge.number == number) {
                *table_p = i;
                *index_p = index;
                return true;
            }
        }
    }
    return false;
}

/* Whether an address table has the process. One of another job has a place up to 4.3 while a communicator of MPICH's
 * has the process, since 5.0 for good. */
static bool has_place(uint32_t number)
{
    int table, index;
    return !MPIDI_BUFENLARGE_is_other_job(number) || MPIDI_BUFENLARGE_find_place(number, &table, &index);
}

/* Nothing of the netmod refers to the peer. */
static bool is_free(const MPIDI_BUFENLARGE_vci_t * vci, const MPIDI_BUFENLARGE_peer_t * peer)
{
    for (const MPIDI_BUFENLARGE_peer_t * lost = vci->lost; lost; lost = lost->lost_next) {
        if (lost == peer)
            return false;
    }
    return !peer->backlog && peer->sources == 0 && peer->unexpected_kib == 0 && (!peer->rma || peer->lost_text)
        && !MPIDI_BUFENLARGE_has_unmatched(vci, peer);
}

static void forget(MPIDI_BUFENLARGE_vci_t * vci, uint32_t number)
{
    MPIDI_BUFENLARGE_peer_t *peer = MPIDI_BUFENLARGE_peer_known(vci, number);
    if ((peer && !is_free(vci, peer)) || has_place(number)
        || !bufenlarge_context_forget_peer(vci->context, number))
        return;
    if (peer)
        MPIDI_BUFENLARGE_eager_limit_arrived(vci, peer, false);
    if (MPIDI_BUFENLARGE_has_failed(number))
        MPIDI_BUFENLARGE_spawn_forget(number);
    MPIDI_BUFENLARGE_peer_forget(vci, number);
    MPIDI_BUFENLARGE_failure_forget(number);
    MPIDI_BUFENLARGE_revoked_early_forget(number);
}

void MPIDI_BUFENLARGE_forget_unused(MPIDI_BUFENLARGE_vci_t * vci)
{
    lost_count = 0;
    for (uint32_t number = (uint32_t) MPIR_Process.size; vci->context && number < numbers_end; number++)
        forget(vci, number);
}

/* To be called when progress has given up a peer. */
void MPIDI_BUFENLARGE_forget_lost(MPIDI_BUFENLARGE_vci_t * vci, const MPIDI_BUFENLARGE_peer_t * peer)
{
    if (!MPIDI_BUFENLARGE_is_other_job(peer->number))
        return;
    MPIDI_BUFENLARGE_forget_note(peer->number);
    if (++lost_count >= LOST_MAX)
        MPIDI_BUFENLARGE_forget_unused(vci);
}

/* -- those that may have left before they were met -- */

#define REACH_SECONDS 1.0

/* Such a process that a receive waits for, and that nothing was sent to or received from; 0 is none. */
static struct {
    uint32_t number;
    MPL_time_t since;
} unreached;

static uint32_t find_unreached(const MPIDI_BUFENLARGE_vci_t * vci)
{
    MPIR_Request *rreq;
    DL_FOREACH(MPIDI_global.per_vci[vci->number].posted_list, rreq) {
        const int source = MPIDI_BUFENLARGE_SOURCE(rreq);
        const uint32_t number = rreq->comm && source >= 0 ? MPIDI_BUFENLARGE_number_of(rreq->comm, source) : 0;
        if (MPIDI_BUFENLARGE_is_other_job(number) && MPIDI_BUFENLARGE_peer_known(vci, number) == NULL)
            return number;
    }
    return 0;
}

/* Where there is no connection nothing tells of the process's end: the process manager knows those of this job. So it
 * is sent a message that says nothing new, which opens a connection, or fails to. */
void MPIDI_BUFENLARGE_reach_out(MPIDI_BUFENLARGE_vci_t * vci)
{
    const uint32_t number = find_unreached(vci);
    if (number != unreached.number) {
        unreached.number = number;
        MPL_wtime(&unreached.since);
    } else if (number != 0 && MPIDI_BUFENLARGE_seconds_since(&unreached.since) >= REACH_SECONDS) {
        MPIDI_BUFENLARGE_peer_t *peer = MPIDI_BUFENLARGE_peer_get(vci, number);
        if (peer != NULL)
            MPIDI_BUFENLARGE_send_control(peer, MPIDI_BUFENLARGE_KIND_EAGER_LIMIT, peer->no_eager_from, NULL, 0);
    }
}
