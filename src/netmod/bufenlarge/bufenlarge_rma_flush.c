/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_rma_flush.c: waits until own one-sided operations are complete. MPIDIG's synchronization calls it before it
 * looks at what went by its own active messages.
 */
#include "mpidimpl.h"
#include "bufenlarge_rma_impl.h"
#include "utlist.h"

typedef MPIDI_BUFENLARGE_oneside_t oneside_t;
typedef MPIDI_BUFENLARGE_pending_t pending_t;
typedef MPIDI_BUFENLARGE_window_t window_t;

/* Behind RDMA writes the question has to be a message that is delivered after them. False: it cannot go yet. */
static bool push_after_writes(MPIDI_BUFENLARGE_vci_t * vci, oneside_t * one)
{
    struct iovec iov = {.iov_base = &one->batch,.iov_len = MPIDI_BUFENLARGE_batch_seal(one) };
    size_t sent = 0;
    if (one->peer->direct == NULL)
        return false;
    const bufenlarge_status_t status =
        bufenlarge_channel_send(one->peer->direct, &iov, 1, BUFENLARGE_FENCE, &sent);
    if (status != BUFENLARGE_OK)
        MPIDI_BUFENLARGE_peer_lost(vci, one->peer->number, status,
                                   bufenlarge_channel_error(one->peer->channel));
    if (sent == 0)
        return false;
    MPIDI_BUFENLARGE_batch_clear(vci, one);
    return true;
}

/* Asks to be told when all Puts so far are in the peer's memory. There is always room for it in the batch. */
static void ask(MPIDI_BUFENLARGE_vci_t * vci, oneside_t * one)
{
    MPIDI_BUFENLARGE_batch_append(vci, one, one->issued, 0, MPIDI_BUFENLARGE_ASK, 0);
    if (one->written <= one->asked) {
        MPIDI_BUFENLARGE_batch_push(vci, one);
    } else if (!push_after_writes(vci, one)) {
        one->bytes -= sizeof(MPIDI_BUFENLARGE_record_t);
        if (one->bytes == 0)
            DL_DELETE(vci->held, one);
        return;
    }
    one->asked = one->issued;
}

/* Whether all own operations on this part are complete, at the target too if so wanted. Else does what is to be done
 * for it. */
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
    oneside_t *one = peer->oneside;
    const bool awaits = remote && pending->mark > one->settled && !peer->lost_text;
    if (peer->lost_text && pending->mark > one->settled)
        *lost_p = peer;
    if (awaits && pending->mark > one->asked)
        ask(vci, one);
    else if (pending->gets > 0 && one->bytes > 0 && !peer->lost_text)
        MPIDI_BUFENLARGE_batch_push(vci, one);
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

static void forget(window_t * window, int target)
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

/* Waits until the own operations on a window's part, or all parts (-1), are complete, at the target too if `remote`. */
int MPIDI_BUFENLARGE_settle(MPIR_Win * win, int target, bool remote)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_window_vci(win);
    window_t *window = MPIDI_BUFENLARGE_WINDOW(win);
    MPIDI_BUFENLARGE_peer_t *lost = NULL;

    if (window == NULL || window->listed_count == 0)
        return MPI_SUCCESS;
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci->number).lock);
    MPIDIU_PROGRESS_WHILE(!are_complete(vci, window, target, remote, &lost), vci->number);
    if (remote)
        forget(window, target);
    if (lost)
        mpi_errno = MPIDI_BUFENLARGE_peer_error(lost);

  fn_exit:
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci->number).lock);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
