/* SPDX-License-Identifier: MIT */
/* bufenlarge_revoked.c: which communicators are revoked, how the members of one learn of it, and what that and a failed
 * member end. */
#include "mpidimpl.h"
#include "bufenlarge_failure.h"

#define CONTEXTS (1u << MPIR_CONTEXT_ID_BITS)

/* The contexts of revoked communicators, which no other communicator gets. Two have a bit together: the second is that
 * of collective operations. */
static struct {
    bool any;
    uint8_t bits[CONTEXTS / 16];
} revoked;

static void mark(MPIR_Comm * comm)
{
    if (comm == NULL)
        return;
    comm->revoked = 1;
    revoked.any = true;
    revoked.bits[comm->recvcontext_id / 16] |= (uint8_t) (1u << comm->recvcontext_id / 2 % 8);
}

bool MPIDI_BUFENLARGE_is_revoked(uint32_t context_id)
{
    return context_id < CONTEXTS && (revoked.bits[context_id / 16] >> context_id / 2 % 8 & 1) != 0;
}

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
    mark(comm);
    mark(comm->node_comm);
    mark(comm->node_roots_comm);
    tell(comm, comm->remote_size, false, comm->context_id);
    if (comm->comm_kind == MPIR_COMM_KIND__INTERCOMM)
        tell(comm, comm->local_size, true, comm->recvcontext_id);
    MPIDI_BUFENLARGE_failure_watch(true);
}

static void revoke_if(MPIR_Comm * comm, uint32_t context_id)
{
    if (MPIR_Object_get_ref(comm) > 0 && comm->recvcontext_id == context_id)
        MPIDI_BUFENLARGE_revoke(comm);
}

/* Another process has revoked the communicator whose messages have this context here. One that is not known was freed,
 * as it may be. */
void MPIDI_BUFENLARGE_revoke_arrived(uint32_t context_id)
{
    const MPIR_Object_alloc_t *pool = &MPIR_Comm_mem;
    for (int i = 0; i < MPIR_COMM_N_BUILTIN; i++)
        revoke_if(&MPIR_Comm_builtin[i], context_id);
    for (int i = 0; pool->initialized && i < pool->direct_size; i++)
        revoke_if((MPIR_Comm *) pool->direct + i, context_id);
    for (int block = 0; block < pool->indirect_size; block++) {
        for (int i = 0; i < HANDLE_NUM_INDICES; i++)
            revoke_if((MPIR_Comm *) pool->indirect[block] + i, context_id);
    }
}

/* Without any lock. */
int MPIDI_BUFENLARGE_comm_error(MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS;
    const MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_main_vci();
    if (likely(!MPL_atomic_relaxed_load_int(&vci->watches)))
        return MPI_SUCCESS;
    MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(0));
    for (int rank = 0; mpi_errno == MPI_SUCCESS && rank < comm->local_size; rank++)
        mpi_errno = MPIDI_BUFENLARGE_rank_error(vci, comm, rank);
    if (mpi_errno == MPI_SUCCESS && comm->revoked)
        MPIR_ERR_SETSIMPLE(mpi_errno, MPIX_ERR_REVOKED, "**revoked");
    MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(0));
    return mpi_errno;
}

void MPIDI_BUFENLARGE_revoked_free(void)
{
    if (revoked.any)
        memset(&revoked, 0, sizeof(revoked));
}
