/* SPDX-License-Identifier: MIT */
/* bufenlarge_peer.c: what the netmod knows of another process, made when it is first needed. */
#include "mpidimpl.h"
#include "bufenlarge_impl.h"

/* Of a VCI but the first. */
static MPIDI_BUFENLARGE_peer_t **slot_of_further(MPIDI_BUFENLARGE_vci_t * vci, uint32_t rank)
{
    if (vci->peers == NULL)
        vci->peers = MPL_calloc(MPIR_Process.size, sizeof(*vci->peers), MPL_MEM_ADDRESS);
    return vci->peers && rank < (uint32_t) MPIR_Process.size ? &vci->peers[rank] : NULL;
}

/* Where the pointer to a peer is kept. Processes of MPI_COMM_WORLD are in MPICH's table of addresses; those of other
 * jobs, whose numbers follow, may be in several of MPICH's tables or in none. NULL when memory is out. */
static MPIDI_BUFENLARGE_peer_t **slot_of(MPIDI_BUFENLARGE_vci_t * vci, uint32_t rank)
{
    MPIDI_BUFENLARGE_global_t *global = &MPIDI_BUFENLARGE_global;
    if (vci->number > 0)
        return slot_of_further(vci, rank);
    if (rank < (uint32_t) MPIR_Process.size)
        return &MPIDIU_get_av(0, rank).netmod.bufenlarge.peer;
    const uint32_t place = rank - (uint32_t) MPIR_Process.size;
    if (place >= global->foreign_count) {
        MPIDI_BUFENLARGE_peer_t **more =
            MPL_realloc(global->foreign, (place + 1) * sizeof(*more), MPL_MEM_ADDRESS);
        if (more == NULL)
            return NULL;
        memset(more + global->foreign_count, 0, (place + 1 - global->foreign_count) * sizeof(*more));
        global->foreign = more;
        global->foreign_count = place + 1;
    }
    return &global->foreign[place];
}

/* NULL when memory is out. */
MPIDI_BUFENLARGE_peer_t *MPIDI_BUFENLARGE_peer_get(MPIDI_BUFENLARGE_vci_t * vci, uint32_t rank)
{
    MPIDI_BUFENLARGE_peer_t **slot = slot_of(vci, rank);
    if (slot == NULL || *slot != NULL)
        return slot ? *slot : NULL;
    bufenlarge_channel_t *channel = bufenlarge_context_channel(vci->context, rank);
    MPIDI_BUFENLARGE_peer_t *peer =
        channel ? MPL_calloc(1, sizeof(*peer), MPL_MEM_ADDRESS) : NULL;
    if (peer == NULL)
        return NULL;
    peer->rank = rank;
    peer->vci = (uint8_t) vci->number;
    peer->channel = channel;
    peer->direct = channel;
    *slot = peer;
    return peer;
}

/* The peer that a rank of a communicator is on a VCI. Communicators with processes of other jobs have VCI 0: MPICH
 * calls them tainted and gives them no other. */
int MPIDI_BUFENLARGE_peer_of(MPIR_Comm * comm, int rank, int number, MPIDI_BUFENLARGE_peer_t ** peer_p)
{
    int mpi_errno = MPI_SUCCESS;
    int lpid = 0, avtid = 0;
    MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_vci(number);

    MPIDIU_comm_rank_to_pid(comm, rank, &lpid, &avtid);
    MPIR_ERR_CHKANDJUMP(vci->context == NULL || (avtid != 0 && number != 0), mpi_errno, MPI_ERR_INTERN,
                        "**bufenlarge_closed");
    if (avtid == 0)
        *peer_p = MPIDI_BUFENLARGE_peer_get(vci, (uint32_t) lpid);
    else
        *peer_p = MPIDIU_get_av(avtid, lpid).netmod.bufenlarge.peer;
    MPIR_ERR_CHKANDJUMP(*peer_p == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* From now on nothing is sent to this peer. Only notes it: this can be called from within the
 * library, and from the middle of the peer's backlog. Progress does the rest (MPIDI_BUFENLARGE_attend).
 */
void MPIDI_BUFENLARGE_peer_lost(MPIDI_BUFENLARGE_vci_t * vci, uint32_t rank,
                                bufenlarge_status_t status, const char *text)
{
    MPIDI_BUFENLARGE_peer_t *peer = MPIDI_BUFENLARGE_peer_get(vci, rank);
    if (peer == NULL) {
        MPIDI_BUFENLARGE_keep_error(vci, MPIDI_BUFENLARGE_error(status, text));
        return;
    }
    if (peer->lost_text != NULL)
        return;
    peer->direct = NULL;
    peer->lost_status = status;
    peer->lost_text = MPL_strdup(text[0] ? text : bufenlarge_status_name(status));
    vci->own_lost |= rank < (uint32_t) MPIR_Process.size;
    peer->lost_next = vci->lost;
    vci->lost = peer;
}

static void peer_free(MPIDI_BUFENLARGE_peer_t * peer)
{
    MPL_free(peer->receive);
    MPL_free(peer->oneside);
    MPL_free(peer->lost_text);
    MPL_free(peer);
}

/* All peers of a VCI, whose context is closed. */
void MPIDI_BUFENLARGE_peers_free(MPIDI_BUFENLARGE_vci_t * vci)
{
    uint32_t count = (uint32_t) MPIR_Process.size;
    if (vci->number == 0)
        count += MPIDI_BUFENLARGE_global.foreign_count;
    else if (vci->peers == NULL)
        return;
    for (uint32_t rank = 0; rank < count; rank++) {
        MPIDI_BUFENLARGE_peer_t **slot = slot_of(vci, rank);
        if (*slot != NULL)
            peer_free(*slot);
        *slot = NULL;
    }
    MPL_free(vci->peers);
    MPL_free(vci->gets);
    if (vci->number == 0)
        MPL_free(MPIDI_BUFENLARGE_global.foreign);
}
