/* SPDX-License-Identifier: MIT */
/* bufenlarge_progress.c: what progress does besides the library's round, and the library's callbacks about failures. */
#include "mpidimpl.h"
#include "bufenlarge_failure.h"
#include "bufenlarge_rma_impl.h"
#include "bufenlarge_spawn.h"
#include "utlist.h"

/* The library's failed callback. */
void MPIDI_BUFENLARGE_failed(void *user, uint32_t peer, bufenlarge_status_t status,
                             const char *message)
{
    MPIDI_BUFENLARGE_peer_lost(user, peer, status, message);
}

/* The library's fatal callback: the process cannot go on. */
void MPIDI_BUFENLARGE_fatal(void *user, bufenlarge_status_t status, const char *message)
{
    MPID_Abort(NULL, MPIDI_BUFENLARGE_error(status, message), 1, message);
}

/* Gives up a lost peer. Everything that the netmod holds for it ends with an error, and what else waits for it after
 * that (bufenlarge_failure_end.c). The peer learns it by the end of the connection. */
static void peer_fail(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer)
{
    bufenlarge_channel_fail(peer->channel, peer->lost_status, peer->lost_text);
    MPIDI_BUFENLARGE_backlog_fail(vci, peer);
    MPIDI_BUFENLARGE_rma_fail(vci, peer);
    MPIDI_BUFENLARGE_receive_fail(vci, peer);
    if (peer->disconnect_received)
        MPIDI_BUFENLARGE_failure_end(vci);      /* it has left, which is no failure: what waits for it now ends */
    else
        MPIDI_BUFENLARGE_failure_note(vci, peer);
}

bool MPIDI_BUFENLARGE_in_progress(void)
{
    bool is_in = false;
    for (int vci = 0; vci < MPIDI_CH4_MAX_VCIS; vci++)
        is_in |= MPIDI_BUFENLARGE_vci(vci)->in_progress;
    return is_in;
}

/* A process has failed, or a communicator was revoked: learns of more, and ends what waits in vain. */
static void watch(MPIDI_BUFENLARGE_vci_t * vci)
{
    if (vci == MPIDI_BUFENLARGE_main_vci())
        MPIDI_BUFENLARGE_revoked_early_progress();
    if (MPIDI_BUFENLARGE_failure_progress(vci))
        MPIDI_BUFENLARGE_failure_end(vci);
}

/* Sends what waits in batches and backlogs, gives up lost peers, ends what waits in vain, and returns the error that
 * was kept. Adds the number of sends to *moved_p. */
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
        MPIDI_BUFENLARGE_forget_lost(vci, peer);
    }
    /* MPICH's own progress looks at it, but not all of its waits call that. */
    if (MPIDI_global.sigusr1_count > MPIDI_global.my_sigusr1_count) {
        MPIDI_global.my_sigusr1_count = MPIDI_global.sigusr1_count;
        MPIDI_BUFENLARGE_failure_signal();
    }
    if (MPL_atomic_relaxed_load_int(&vci->watches))
        watch(vci);
    int mpi_errno = vci->mpi_errno;
    vci->mpi_errno = MPI_SUCCESS;

    MPIR_FUNC_EXIT;
    return mpi_errno;
}
