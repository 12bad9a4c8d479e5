/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_peer.c: what the netmod knows of another process.
 *
 * The library numbers processes: those of MPI_COMM_WORLD by rank, then those of other jobs. Each VCI has one table of
 * peers by that number and owns them; an entry is made for the first message to or from the process on that VCI. The
 * table is a row of leaves: two loads find a peer, on the path of every message, and one that is not there costs next
 * to nothing. MPICH's address tables hold the number only, so that a process that stands in several of them is one
 * peer.
 */
#include "mpidimpl.h"
#include "bufenlarge_unexpected.h"

/* Makes the row of leaves long enough for `number`. Returns false when there is no memory for it. */
static bool row_reach(MPIDI_BUFENLARGE_vci_t * vci, uint32_t number)
{
    const uint32_t most = MPL_MAX(number, (uint32_t) MPIR_Process.size - 1);
    const size_t have = vci->peer_count / MPIDI_BUFENLARGE_LEAF_PEERS;
    const size_t count = most / MPIDI_BUFENLARGE_LEAF_PEERS + 1;
    if (number < vci->peer_count)
        return true;
    MPIDI_BUFENLARGE_peer_t ***more = MPL_realloc(vci->leaves, count * sizeof(*more), MPL_MEM_ADDRESS);
    if (more == NULL)
        return false;
    memset(more + have, 0, (count - have) * sizeof(*more));
    vci->leaves = more;
    vci->peer_count = (uint32_t) (count * MPIDI_BUFENLARGE_LEAF_PEERS);
    return true;
}

/* Returns the peer's place in its leaf; NULL when there is no memory for it. */
static MPIDI_BUFENLARGE_peer_t **place_of(MPIDI_BUFENLARGE_vci_t * vci, uint32_t number)
{
    if (!row_reach(vci, number))
        return NULL;
    MPIDI_BUFENLARGE_peer_t ***leaf = &vci->leaves[number / MPIDI_BUFENLARGE_LEAF_PEERS];
    if (*leaf == NULL)
        *leaf = MPL_calloc(MPIDI_BUFENLARGE_LEAF_PEERS, sizeof(**leaf), MPL_MEM_ADDRESS);
    return *leaf ? *leaf + number % MPIDI_BUFENLARGE_LEAF_PEERS : NULL;
}

/* Returns the peer, which is made when there is none yet; NULL when there is no memory for it. */
MPIDI_BUFENLARGE_peer_t *MPIDI_BUFENLARGE_peer_get(MPIDI_BUFENLARGE_vci_t * vci, uint32_t number)
{
    MPIDI_BUFENLARGE_peer_t *peer = MPIDI_BUFENLARGE_peer_known(vci, number);
    if (peer != NULL)
        return peer;
    bufenlarge_channel_t *channel = bufenlarge_context_channel(vci->context, number);
    MPIDI_BUFENLARGE_peer_t **place = channel ? place_of(vci, number) : NULL;
    if (place == NULL)
        return NULL;
    peer = MPL_calloc(1, sizeof(*peer), MPL_MEM_ADDRESS);
    if (peer == NULL)
        return NULL;
    peer->number = number;
    peer->vci = (uint8_t) vci->number;
    peer->channel = channel;
    MPIDI_BUFENLARGE_peer_paths(peer);
    MPIDI_BUFENLARGE_global.met_other_job |= MPIDI_BUFENLARGE_is_other_job(number);
    *place = peer;
    return peer;
}

/* Finds the peer that a rank of a communicator is on a VCI. Communicators with processes of other jobs use VCI 0 only:
 * MPICH calls them tainted. */
int MPIDI_BUFENLARGE_peer_of(MPIR_Comm * comm, int rank, int vci_number, MPIDI_BUFENLARGE_peer_t ** peer_p)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_vci(vci_number);
    const uint32_t number = MPIDIU_comm_rank_to_av(comm, rank)->netmod.bufenlarge.number;

    MPIR_ERR_CHKANDJUMP(vci->context == NULL || (MPIDI_BUFENLARGE_is_other_job(number) && vci_number != 0),
                        mpi_errno, MPI_ERR_INTERN, "**bufenlarge_closed");
    *peer_p = MPIDI_BUFENLARGE_peer_get(vci, number);
    MPIR_ERR_CHKANDJUMP(*peer_p == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Finds the peer of a send; fails when that peer is lost, also when the send's own attempt has just shown it. */
int MPIDI_BUFENLARGE_reachable_peer(MPIR_Comm * comm, int rank,
                                    const MPIDI_BUFENLARGE_send_t * send,
                                    MPIDI_BUFENLARGE_peer_t ** peer_p)
{
    int mpi_errno = MPIDI_BUFENLARGE_peer_of(comm, rank, send->vci, peer_p);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (send->status != BUFENLARGE_OK)
        MPIDI_BUFENLARGE_peer_lost(MPIDI_BUFENLARGE_vci(send->vci), (*peer_p)->number, send->status,
                                   bufenlarge_channel_error((*peer_p)->channel));
    return (*peer_p)->lost_text ? MPIDI_BUFENLARGE_peer_error(*peer_p) : MPI_SUCCESS;
}

/* Notes that nothing can be sent to this peer from now on. Does nothing else, because the library may be the caller, or
 * a loop over the peer's backlog. Progress does the rest (MPIDI_BUFENLARGE_dequeue). */
void MPIDI_BUFENLARGE_peer_lost(MPIDI_BUFENLARGE_vci_t * vci, uint32_t number,
                                bufenlarge_status_t status, const char *text)
{
    MPIDI_BUFENLARGE_peer_t *peer = MPIDI_BUFENLARGE_peer_get(vci, number);
    if (peer == NULL) {
        MPIDI_BUFENLARGE_keep_error(vci, MPIDI_BUFENLARGE_error(BUFENLARGE_ERR_MEMORY, text));
        return;
    }
    if (peer->lost_text != NULL)
        return;
    peer->direct = peer->eager = NULL;
    peer->lost_status = (int8_t) status;
    peer->lost_text = MPL_strdup(text[0] ? text : bufenlarge_status_name(status));
    vci->own_lost |= !MPIDI_BUFENLARGE_is_other_job(number);
    peer->lost_next = vci->lost;
    vci->lost = peer;
}

static void peer_free(MPIDI_BUFENLARGE_peer_t * peer)
{
    if (peer == NULL)
        return;
    MPL_free(peer->receive);
    MPL_free(peer->rma);
    MPL_free(peer->lost_text);
    MPL_free(peer);
}

/* Frees the peer with this number, to which nothing refers. */
void MPIDI_BUFENLARGE_peer_forget(MPIDI_BUFENLARGE_vci_t * vci, uint32_t number)
{
    if (MPIDI_BUFENLARGE_peer_known(vci, number) == NULL)
        return;
    MPIDI_BUFENLARGE_peer_t **place = place_of(vci, number);
    peer_free(*place);
    *place = NULL;
}

/* Frees all peers of a VCI, whose context is closed. */
void MPIDI_BUFENLARGE_peers_free(MPIDI_BUFENLARGE_vci_t * vci)
{
    for (size_t i = 0; i < vci->peer_count / MPIDI_BUFENLARGE_LEAF_PEERS; i++) {
        for (int j = 0; vci->leaves[i] && j < MPIDI_BUFENLARGE_LEAF_PEERS; j++)
            peer_free(vci->leaves[i][j]);
        MPL_free(vci->leaves[i]);
    }
    MPL_free(vci->leaves);
    MPL_free(vci->gets);
    vci->leaves = NULL;
    vci->peer_count = 0;
}
