/* SPDX-License-Identifier: MIT */
/* bufenlarge_revoked.c: which communicators are revoked, how the members of one learn of it, and what that and a failed
 * member end. */
#include "mpidimpl.h"
#include "bufenlarge_failure.h"
#include "bufenlarge_members.h"

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

/* -- that of another process -- */

/* Revocations of communicators that this process does not have: it may still be making them, while the other one has
 * made them and is past that. Such a one is revoked when it is there and has the process that told. One that this
 * process has freed already gives its context to others, but to none with that process, which keeps the context of
 * what it has revoked for ever. The oldest goes when there are too many; processes of other jobs cannot push out what
 * the own one has told. */
typedef struct {
    uint32_t number, context_id;
} early_t;

enum { OWN = 256, OTHERS = 64 };

static struct {
    early_t told[OWN + OTHERS]; /* those of the own job first */
    unsigned own, others;       /* how many there are of each, and where the next one goes, round and round */
    unsigned next_own, next_others;
    unsigned looked;            /* how often the communicators had changed when they were looked through */
} early;

static void keep_early(uint32_t number, uint32_t context_id)
{
    const bool is_other = MPIDI_BUFENLARGE_is_other_job(number);
    early_t *told = early.told + (is_other ? OWN : 0);
    unsigned *count = is_other ? &early.others : &early.own, *next = is_other ? &early.next_others : &early.next_own;
    const unsigned room = is_other ? OTHERS : OWN;
    /* All who tell it of the own job are members: one of them will do. */
    for (unsigned i = 0; i < *count; i++) {
        if (told[i].context_id == context_id && (!is_other || told[i].number == number)) {
            told[i].number = number;
            return;
        }
    }
    told[*next] = (early_t) {.number = number,.context_id = context_id };
    *next = (*next + 1) % room;
    *count += *count < room;
}

void MPIDI_BUFENLARGE_revoke_arrived(uint32_t number, uint32_t context_id)
{
    if (MPIDI_BUFENLARGE_members_revoke(number, context_id) || MPIDI_BUFENLARGE_is_revoked(context_id))
        return;
    keep_early(number, context_id);
    early.looked = MPIDI_BUFENLARGE_members_changes() - 1;
    MPIDI_BUFENLARGE_failure_watch(true);
}

static void look_through(early_t * told, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (told[i].context_id < CONTEXTS && MPIDI_BUFENLARGE_members_revoke(told[i].number, told[i].context_id))
            told[i].context_id = CONTEXTS;
    }
}

void MPIDI_BUFENLARGE_revoked_progress(void)
{
    if (early.own + early.others == 0)
        return;
    const unsigned changes = MPIDI_BUFENLARGE_members_changes();
    if (early.looked == changes)
        return;
    early.looked = changes;
    look_through(early.told, early.own);
    look_through(early.told + OWN, early.others);
}

void MPIDI_BUFENLARGE_revoked_forget(uint32_t number)
{
    for (unsigned i = 0; i < early.others; i++) {
        if (early.told[OWN + i].number == number)
            early.told[OWN + i].context_id = CONTEXTS;
    }
}

/* -- what that and a failed member end -- */

/* Without any lock. */
int MPIDI_BUFENLARGE_comm_error(MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS;
    const MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_main_vci();
    if (likely(!MPL_atomic_relaxed_load_int(&vci->watches))
        || (MPIDI_BUFENLARGE_failure_count() == 0 && !MPL_atomic_relaxed_load_int(&revoked.any)))
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
    if (MPL_atomic_relaxed_load_int(&revoked.any))
        memset(&revoked, 0, sizeof(revoked));
    memset(&early, 0, sizeof(early));
}
