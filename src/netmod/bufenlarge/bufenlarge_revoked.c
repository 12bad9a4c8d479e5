/* SPDX-License-Identifier: MIT */
/* bufenlarge_revoked.c: which communicators are revoked, and how their members learn of it. */
#include "mpidimpl.h"
#include "bufenlarge_failure.h"

#define CONTEXTS (1u << MPIR_CONTEXT_ID_BITS)

/* The contexts of revoked communicators, which no other communicator gets. Two have a bit together: the second is that
 * of collective operations. */
static struct {
    MPL_atomic_int_t any;
    uint8_t bits[CONTEXTS / 16];
} revoked;

static void mark(MPIR_Comm * comm)
{
    if (comm == NULL)
        return;
    comm->revoked = 1;
    MPL_atomic_relaxed_store_int(&revoked.any, 1);
    revoked.bits[comm->recvcontext_id / 16] |= (uint8_t) (1u << comm->recvcontext_id / 2 % 8);
}

/* With the communicators of its nodes. */
static void mark_all(MPIR_Comm * comm)
{
    mark(comm);
    mark(comm->node_comm);
    mark(comm->node_roots_comm);
}

bool MPIDI_BUFENLARGE_is_revoked(uint32_t context_id)
{
    return context_id < CONTEXTS && (revoked.bits[context_id / 16] >> context_id / 2 % 8 & 1) != 0;
}

bool MPIDI_BUFENLARGE_any_revoked(void)
{
    return MPL_atomic_relaxed_load_int(&revoked.any) != 0;
}

/* -- while one is made -- */

static __thread uint32_t makes_in;      /* context, plus 1, in which the calling thread has agreed on another last */

void MPIDI_BUFENLARGE_makes_in(MPIR_Comm * parent)
{
    makes_in = parent->recvcontext_id + 1;
}

static void set_made_in(MPIR_Comm * made, uint32_t context)
{
    if (made)
        MPIDI_COMM(made, netmod.bufenlarge).made_in = context;
}

/* MPIX_Comm_shrink makes one in a communicator that is revoked. */
void MPIDI_BUFENLARGE_set_in_making(MPIR_Comm * made, bool in_making)
{
    const uint32_t context = in_making && MPIDI_BUFENLARGE_repaired == NULL ? makes_in : 0;
    MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(0));
    set_made_in(made, context);
    set_made_in(made->node_comm, context);
    set_made_in(made->node_roots_comm, context);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(0));
    makes_in = 0;
}

bool MPIDI_BUFENLARGE_is_ended(const MPIR_Comm * comm)
{
    const uint32_t made_in = MPIDI_COMM(comm, netmod.bufenlarge).made_in;
    return comm->revoked || (made_in != 0 && MPIDI_BUFENLARGE_is_revoked(made_in - 1));
}

void MPIDI_BUFENLARGE_revoked_inherit(MPIR_Comm * comm)
{
    const uint32_t context = comm->recvcontext_id;
    if (!MPIDI_BUFENLARGE_any_revoked() || MPIR_CONTEXT_READ_FIELD(IS_LOCALCOMM, context) == 0)
        return;
    /* It may be that of the group's processes of a node. */
    const uint32_t inter = MPIR_CONTEXT_SET_FIELD(SUBCOMM, MPIR_CONTEXT_SET_FIELD(IS_LOCALCOMM, context, 0), 0);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(0));
    if (MPIDI_BUFENLARGE_is_revoked(inter))
        mark(comm);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(0));
}

/* -- revoking -- */

/* Tells all members of one of the communicator's groups. Each process that learns of it tells all the others, so that
 * they know although one that tells them fails meanwhile. */
static void tell(MPIR_Comm * comm, int size, bool local, uint32_t context_id)
{
    MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_main_vci();
    for (int rank = 0; rank < size; rank++) {
        const MPIDI_av_entry_t *av =
            local ? MPIDI_BUFENLARGE_av_of_local(comm, rank) : MPIDIU_comm_rank_to_av(comm, rank);
        const uint32_t number = av->netmod.bufenlarge.number;
        MPIDI_BUFENLARGE_peer_t *peer = number == (uint32_t) MPIR_Process.rank ? NULL
            : MPIDI_BUFENLARGE_peer_get(vci, number);
        if (peer != NULL)
            MPIDI_BUFENLARGE_send_control(peer, MPIDI_BUFENLARGE_KIND_REVOKE, context_id, NULL, 0);
    }
}

/* With the first VCI's lock. */
void MPIDI_BUFENLARGE_revoke(MPIR_Comm * comm)
{
    if (comm->revoked)
        return;
    mark_all(comm);
    tell(comm, comm->remote_size, false, comm->context_id);
    if (comm->comm_kind == MPIR_COMM_KIND__INTERCOMM) {
        /* In which a group does its part of collective operations, once it has done one. */
        if (comm->local_comm)
            mark_all(comm->local_comm);
        tell(comm, comm->local_size, true, comm->recvcontext_id);
    }
    MPIDI_BUFENLARGE_failure_watch(true);
}

void MPIDI_BUFENLARGE_revoked_free(void)
{
    if (MPIDI_BUFENLARGE_any_revoked())
        memset(&revoked, 0, sizeof(revoked));
}
