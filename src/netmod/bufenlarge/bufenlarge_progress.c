/* SPDX-License-Identifier: MIT */
/* bufenlarge_progress.c: the part of progress that has something to do besides the library's round. */
#include "mpidimpl.h"
#include "bufenlarge_rma_impl.h"
#include "utlist.h"

/* The library's failed callback. */
void MPIDI_BUFENLARGE_failed(void *user, uint32_t peer, bufenlarge_status_t status,
                             const char *message)
{
    MPIDI_BUFENLARGE_peer_lost(user, peer, status, message);
}

/* What waited for the peer and is known here ends with an error. Who else waits, for an
 * acknowledgement or with MPI_ANY_SOURCE, learns of it from the error that progress returns, once:
 * it ends the call that waits, whichever that is. Nobody waits for one that has taken leave. */
static void peer_fail(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer)
{
    MPIDI_BUFENLARGE_backlog_fail(vci, peer);
    MPIDI_BUFENLARGE_rma_fail(vci, peer);
    MPIDI_BUFENLARGE_receive_fail(vci, peer);
    if (!peer->has_left)
        MPIDI_BUFENLARGE_keep_error(vci, MPIDI_BUFENLARGE_peer_error(peer));
}

/* Tries the backlogs, deals with lost peers, hands out the stored error. Adds to *moved_p. */
int MPIDI_BUFENLARGE_dequeue(MPIDI_BUFENLARGE_vci_t * vci, unsigned *moved_p)
{
    MPIDI_BUFENLARGE_peer_t *peer, *after;
    MPIR_FUNC_ENTER;

    MPIDI_BUFENLARGE_batches_send(vci);
    DL_FOREACH_SAFE(vci->busy, peer, after) {
        *moved_p += MPIDI_BUFENLARGE_backlog_flush(vci, peer);
    }
    while (vci->lost != NULL) {
        peer = vci->lost;
        vci->lost = peer->lost_next;
        peer_fail(vci, peer);
    }
    int mpi_errno = vci->mpi_errno;
    vci->mpi_errno = MPI_SUCCESS;

    MPIR_FUNC_EXIT;
    return mpi_errno;
}
