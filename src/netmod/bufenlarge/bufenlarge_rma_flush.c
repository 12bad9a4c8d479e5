/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_rma_flush.c: waits until own one-sided operations are complete. The synchronization calls of MPIDIG call
 * it before they look at what went by MPIDIG's own active messages.
 */
#include "mpidimpl.h"
#include "bufenlarge_rma_impl.h"
#include "utlist.h"

typedef MPIDI_BUFENLARGE_pending_t pending_t;
typedef MPIDI_BUFENLARGE_rma_t rma_t;
typedef MPIDI_BUFENLARGE_window_t window_t;

/* Sends a flush request that has to be delivered after RDMA writes. Returns false when it cannot go yet. */
static bool send_fenced(MPIDI_BUFENLARGE_vci_t * vci, rma_t * rma)
{
    struct iovec iov = {.iov_base = &rma->batch,.iov_len = MPIDI_BUFENLARGE_batch_seal(rma) };
    size_t sent = 0;
    if (rma->peer->direct == NULL)
        return false;
    const bufenlarge_status_t status =
        bufenlarge_channel_send(rma->peer->direct, &iov, 1, BUFENLARGE_FENCE, &sent);
    if (status != BUFENLARGE_OK)
        MPIDI_BUFENLARGE_peer_lost(vci, rma->peer->number, status,
                                   bufenlarge_channel_error(rma->peer->channel));
    if (sent == 0)
        return false;
    MPIDI_BUFENLARGE_batch_clear(vci, rma);
    return true;
}

/* Sends a flush request for all Puts so far. A batch always has room for it; one that is longer than a slot, which it
 * may be after waiting, goes before one that has to be delivered after RDMA writes. */
static void request_flush(MPIDI_BUFENLARGE_vci_t * vci, rma_t * rma)
{
    if (rma->written > rma->flush_requested && MPIDI_BUFENLARGE_batch_seal(rma) + sizeof(MPIDI_BUFENLARGE_record_t)
        > bufenlarge_channel_element_max(rma->peer->channel))
        MPIDI_BUFENLARGE_batch_send(vci, rma);
    MPIDI_BUFENLARGE_batch_append(vci, rma, rma->issued, 0, MPIDI_BUFENLARGE_FLUSH, 0);
    if (rma->written <= rma->flush_requested) {
        MPIDI_BUFENLARGE_batch_send(vci, rma);
    } else if (!send_fenced(vci, rma)) {
        rma->bytes -= sizeof(MPIDI_BUFENLARGE_record_t);
        if (rma->bytes == 0)
            DL_DELETE(vci->batches, rma);
        return;
    }
    rma->flush_requested = rma->issued;
}

/* Returns whether all own operations on this part are complete, with `remote` at the target too; sends what is still
 * needed for that. */
static bool is_complete(MPIDI_BUFENLARGE_vci_t * vci, window_t * window, int target, bool remote,
                        MPIDI_BUFENLARGE_peer_t ** lost_p)
{
    const pending_t *pending = &window->pending[target];
    MPIDI_BUFENLARGE_peer_t *peer;
    if (!pending->listed)
        return true;
    /* It was found when the operation was begun. */
    if (MPIDI_BUFENLARGE_peer_of(window->win->comm_ptr, target, vci->number, &peer) != MPI_SUCCESS)
        return true;
    rma_t *rma = peer->rma;
    const bool awaits = remote && pending->last_put > rma->flushed && !peer->lost_text;
    if (peer->lost_text && pending->last_put > rma->flushed)
        *lost_p = peer;
    if (awaits && pending->last_put > rma->flush_requested)
        request_flush(vci, rma);
    else if (pending->gets > 0 && rma->bytes > 0 && !peer->lost_text)
        MPIDI_BUFENLARGE_batch_send(vci, rma);
    return !awaits && pending->writes == 0 && pending->gets == 0;
}

static bool are_complete(MPIDI_BUFENLARGE_vci_t * vci, window_t * window, int target, bool remote,
                         MPIDI_BUFENLARGE_peer_t ** lost_p)
{
    bool complete = true;
    if (target >= 0)
        return is_complete(vci, window, target, remote, lost_p);
    for (int i = 0; i < window->listed_count; i++)
        complete &= is_complete(vci, window, window->listed[i], remote, lost_p);
    return complete;
}

/* Takes a rank, or all (-1), off the window's list. */
static void unlist(window_t * window, int target)
{
    int kept = 0;
    for (int i = 0; i < window->listed_count; i++) {
        const int rank = window->listed[i];
        if (target >= 0 && rank != target)
            window->listed[kept++] = rank;
        else
            window->pending[rank].listed = false;
    }
    window->listed_count = kept;
}

/* Waits while too many bytes of small operations wait in the target's backlog. */
void MPIDI_BUFENLARGE_rma_make_room(MPIR_Win * win, int target)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_window_vci(win);
    MPIDI_BUFENLARGE_peer_t *peer;

    if (MPIDI_BUFENLARGE_peer_of(win->comm_ptr, target, vci->number, &peer) != MPI_SUCCESS || peer->rma == NULL)
        return;
    MPIDIU_PROGRESS_WHILE(!peer->lost_text && vci->copied > MPIDI_BUFENLARGE_COPIES_MAX
                          && peer->rma->copied > MPIDI_BUFENLARGE_COPIES_OF_ONE, vci->number);

  fn_fail:
    MPIDI_BUFENLARGE_keep_error(vci, mpi_errno);
}

/* Waits until the own operations on one part of a window, or on all (-1), are complete, with `remote` at the target
 * too. */
int MPIDI_BUFENLARGE_rma_flush(MPIR_Win * win, int target, bool remote)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_window_vci(win);
    window_t *window = MPIDI_BUFENLARGE_WINDOW(win);
    MPIDI_BUFENLARGE_peer_t *lost = NULL;

    if (window == NULL || window->listed_count == 0)
        return MPI_SUCCESS;
    MPIDI_BUFENLARGE_HOOK_ENTER(vci->number);
    MPIDIU_PROGRESS_WHILE(!are_complete(vci, window, target, remote, &lost), vci->number);
    if (remote)
        unlist(window, target);
    if (lost)
        mpi_errno = MPIDI_BUFENLARGE_peer_error(lost);

  fn_exit:
    MPIDI_BUFENLARGE_HOOK_EXIT(vci->number);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
