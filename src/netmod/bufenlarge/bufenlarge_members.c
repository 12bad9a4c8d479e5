/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_members.c: the communicators of this process, and what a process of another job may send. Whoever knows a
 * port name may connect, so such a process speaks as itself only: in a communicator that this process has, as the rank
 * that it is there, and without a communicator in common nothing that has to do with one. A process of the own job is
 * not looked at.
 *
 * A message in a communicator that this process does not have yet is taken: the other process may have made it first.
 */
#include "mpidimpl.h"
#include "bufenlarge_consensus.h"
#include "bufenlarge_failure.h"
#include "bufenlarge_members.h"
#include <pthread.h>

/* The communicators, and how often they have changed. */
static struct {
    MPIR_Comm *list;
    unsigned changes;
    pthread_mutex_t mutex;
} comms = {.mutex = PTHREAD_MUTEX_INITIALIZER };

#define NODE(comm) MPIDI_COMM(comm, netmod.bufenlarge)

/* None is left when MPI begins, but those that the last time has not freed. */
void MPIDI_BUFENLARGE_members_reset(void)
{
    comms.list = NULL;
    comms.changes++;
}

void MPIDI_BUFENLARGE_members_begin(MPIR_Comm * comm)
{
    pthread_mutex_lock(&comms.mutex);
    NODE(comm).prev = NULL;
    NODE(comm).next = comms.list;
    if (comms.list)
        NODE(comms.list).prev = comm;
    comms.list = comm;
    NODE(comm).listed = true;
    comms.changes++;
    pthread_mutex_unlock(&comms.mutex);
}

void MPIDI_BUFENLARGE_members_end(MPIR_Comm * comm)
{
    if (!NODE(comm).listed)
        return;
    pthread_mutex_lock(&comms.mutex);
    MPIR_Comm *next = NODE(comm).next, *prev = NODE(comm).prev;
    if (next)
        NODE(next).prev = prev;
    if (prev)
        NODE(prev).next = next;
    else
        comms.list = next;
    NODE(comm).listed = false;
    comms.changes++;
    pthread_mutex_unlock(&comms.mutex);
}

unsigned MPIDI_BUFENLARGE_members_changes(void)
{
    pthread_mutex_lock(&comms.mutex);
    const unsigned changes = comms.changes;
    pthread_mutex_unlock(&comms.mutex);
    return changes;
}

/* -- with the mutex -- */

static bool has_member(MPIR_Comm * comm, uint32_t number)
{
    for (int rank = 0; rank < comm->remote_size; rank++) {
        if (MPIDI_BUFENLARGE_number_of(comm, rank) == number)
            return true;
    }
    for (int rank = 0; comm->comm_kind == MPIR_COMM_KIND__INTERCOMM && rank < comm->local_size; rank++) {
        if (MPIDI_BUFENLARGE_av_of_local(comm, rank)->netmod.bufenlarge.number == number)
            return true;
    }
    return false;
}

static bool is_anywhere(uint32_t number)
{
    for (MPIR_Comm * comm = comms.list; comm; comm = NODE(comm).next) {
        if (has_member(comm, number))
            return true;
    }
    return false;
}

/* Whether one of the communicators that receive in this context has the process, as that rank (ANY_RANK: as any); also
 * when there is none. The lowest bit of a context is that of collective operations. */
#define ANY_RANK (-1)
static bool may_speak(uint32_t number, uint32_t context_id, int rank)
{
    bool found = false;
    for (MPIR_Comm * comm = comms.list; comm; comm = NODE(comm).next) {
        if (comm->recvcontext_id != (context_id & ~1u))
            continue;
        found = true;
        if (rank == ANY_RANK ? has_member(comm, number)
            : rank >= 0 && rank < comm->remote_size && MPIDI_BUFENLARGE_number_of(comm, rank) == number)
            return true;
    }
    return !found;
}

/* -- a communicator of a message -- */

/* With the mutex for as long as the communicator must not be freed. */
bool MPIDI_BUFENLARGE_members_revoke(uint32_t number, uint32_t context_id)
{
    bool found = false;
    pthread_mutex_lock(&comms.mutex);
    for (MPIR_Comm * comm = comms.list; comm && !found; comm = NODE(comm).next) {
        found = comm->recvcontext_id == context_id && (comm->revoked || has_member(comm, number));
        if (found)
            MPIDI_BUFENLARGE_revoke(comm);
    }
    pthread_mutex_unlock(&comms.mutex);
    return found;
}

/* -- messages -- */

/* What was found to be right since the communicators changed last. Guarded by the mutex. */
static struct {
    unsigned changes;
    uint32_t number, context_id;
    int rank;
} right[64];

#define NO_CONTEXT UINT32_MAX

static bool is_right(uint32_t number, uint32_t context_id, int rank)
{
    const unsigned at = (number * 31 + context_id * 7 + (unsigned) rank) % (sizeof(right) / sizeof(right[0]));
    pthread_mutex_lock(&comms.mutex);
    bool is = right[at].changes == comms.changes && right[at].number == number
        && right[at].context_id == context_id && right[at].rank == rank;
    if (!is) {
        is = context_id == NO_CONTEXT ? is_anywhere(number) : may_speak(number, context_id, rank);
        if (is) {
            right[at].changes = comms.changes;
            right[at].number = number;
            right[at].context_id = context_id;
            right[at].rank = rank;
        }
    }
    pthread_mutex_unlock(&comms.mutex);
    return is;
}

const char *MPIDI_BUFENLARGE_check_sender(uint32_t number, uint32_t context_id, int rank)
{
    return is_right(number, context_id, rank) ? NULL : "it sent a message as another process";
}

/* Of MPIDIG's messages these two open something, so the communicator may be new. All others answer, or belong to a
 * window. */
static const char *check_am(uint32_t number, const MPIDI_BUFENLARGE_wire_t * wire, const void *am_hdr)
{
    const MPIDIG_hdr_t *hdr = am_hdr;
    const MPIDIG_part_send_init_msg_t *part = am_hdr;
    if (wire->handler_id == MPIDIG_SEND)
        return MPIDI_BUFENLARGE_check_sender(number, (uint32_t) hdr->context_id, hdr->src_rank);
    if (wire->handler_id == MPIDIG_PART_SEND_INIT)
        return MPIDI_BUFENLARGE_check_sender(number, (uint32_t) part->context_id, part->src_rank);
    return is_right(number, NO_CONTEXT, ANY_RANK) ? NULL : "it sent a message without a communicator in common";
}

/* Returns what is wrong with the message of a process of another job; NULL when nothing is. */
const char *MPIDI_BUFENLARGE_check_other_job(uint32_t number, const MPIDI_BUFENLARGE_wire_t * wire, const void *am_hdr)
{
    switch (wire->kind) {
        case MPIDI_BUFENLARGE_KIND_AM:
        case MPIDI_BUFENLARGE_KIND_RENDEZVOUS:
            return check_am(number, wire, am_hdr);
        case MPIDI_BUFENLARGE_KIND_REVOKE:
        case MPIDI_BUFENLARGE_KIND_CONSENSUS:
            if (wire->detail == MPIDI_BUFENLARGE_FINALIZE_CONTEXT)
                return MPIDI_BUFENLARGE_CONTRADICTION;
            return MPIDI_BUFENLARGE_check_sender(number, wire->detail, ANY_RANK);
        case MPIDI_BUFENLARGE_KIND_RMA_OPERATIONS:
        case MPIDI_BUFENLARGE_KIND_RMA_REPLIES:
            return is_right(number, NO_CONTEXT, ANY_RANK) ? NULL : "it sent a message without a communicator in common";
        default:
            return NULL;
    }
}
