/* SPDX-License-Identifier: MIT */
/* bufenlarge_peer.c: what the netmod knows of another process, made when it is first needed. */
#include "mpidimpl.h"
#include "bufenlarge_impl.h"

static MPIDI_BUFENLARGE_peer_t **slot_of(uint32_t rank)
{
    return &MPIDIU_get_av(0, rank).netmod.bufenlarge.peer;
}

/* NULL when memory is out. */
MPIDI_BUFENLARGE_peer_t *MPIDI_BUFENLARGE_peer_get(MPIDI_BUFENLARGE_vci_t * vci, uint32_t rank)
{
    MPIDI_BUFENLARGE_peer_t **slot = slot_of(rank);
    if (*slot != NULL)
        return *slot;
    bufenlarge_channel_t *channel = bufenlarge_context_channel(vci->context, rank);
    MPIDI_BUFENLARGE_peer_t *peer =
        channel ? MPL_calloc(1, sizeof(*peer), MPL_MEM_ADDRESS) : NULL;
    if (peer == NULL)
        return NULL;
    peer->rank = rank;
    peer->channel = channel;
    peer->direct = channel;
    *slot = peer;
    return peer;
}

int MPIDI_BUFENLARGE_peer_of(MPIR_Comm * comm, int rank, MPIDI_BUFENLARGE_peer_t ** peer_p)
{
    int mpi_errno = MPI_SUCCESS;
    int lpid = MPIDIU_rank_to_lpid(rank, comm);

    /* Only processes of the own MPI_COMM_WORLD are in address vector 0. */
    MPIR_ERR_CHKANDJUMP(lpid < 0, mpi_errno, MPI_ERR_OTHER, "**bufenlarge_dynproc");
    MPIR_ERR_CHKANDJUMP(MPIDI_BUFENLARGE_vci(0)->context == NULL, mpi_errno, MPI_ERR_INTERN,
                        "**bufenlarge_closed");
    *peer_p = MPIDI_BUFENLARGE_peer_get(MPIDI_BUFENLARGE_vci(0), (uint32_t) lpid);
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
    peer->lost_next = vci->lost;
    vci->lost = peer;
}

void MPIDI_BUFENLARGE_peers_free(void)
{
    for (uint32_t rank = 0; rank < (uint32_t) MPIR_Process.size; rank++) {
        MPIDI_BUFENLARGE_peer_t **slot = slot_of(rank);
        if (*slot == NULL)
            continue;
        MPL_free((*slot)->receive);
        MPL_free((*slot)->oneside);
        MPL_free((*slot)->lost_text);
        MPL_free(*slot);
        *slot = NULL;
    }
    MPL_free(MPIDI_BUFENLARGE_vci(0)->gets);
    MPIDI_BUFENLARGE_vci(0)->gets = NULL;
}
