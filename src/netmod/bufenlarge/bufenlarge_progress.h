/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_progress.h: one round of progress. The library's is never called from within itself. Handlers only send,
 * and no send makes progress; but they complete requests, the last of which frees a communicator, and then MPICH may
 * call whatever it likes.
 */
#ifndef BUFENLARGE_PROGRESS_H_INCLUDED
#define BUFENLARGE_PROGRESS_H_INCLUDED

#include "bufenlarge_impl.h"
#include <sched.h>

/* After a round without an event, in a process that may sleep; see bufenlarge_sleep.c. */
void MPIDI_BUFENLARGE_yield_or_sleep(MPIDI_BUFENLARGE_vci_t * vci);
/* Sets when the process yields, and whether it may sleep. To be called when the library knows all addresses. */
void MPIDI_BUFENLARGE_sleep_init(MPIDI_BUFENLARGE_vci_t * vci);

/* MPICH spins where it waits. With more processes than cores another process may need this core, so
 * the netmod offers it after some rounds without an event. An event in shared memory counts too: MPICH's
 * count shows it. With threads it yields as well, though it holds the lock: what MPICH itself does in
 * each round there is nothing at all on Linux (its configure's --enable-yield). */
MPL_STATIC_INLINE_PREFIX void MPIDI_BUFENLARGE_maybe_yield(MPIDI_BUFENLARGE_vci_t * vci)
{
    int progress_count = MPIDI_BUFENLARGE_progress_count(vci->number);
    if (progress_count != vci->progress_count) {
        vci->progress_count = progress_count;
        vci->rounds_empty = 0;
    } else if (vci->sleep_after_us > 0 && !MPIR_IS_THREADED) {
        MPIDI_BUFENLARGE_yield_or_sleep(vci);
    } else if (vci->rounds_empty < vci->yield_after) {
        vci->rounds_empty++;
    } else if (vci->yield_after > 0) {
        sched_yield();
    }
}

/* Sets *made_progress_p when there was an event. */
MPL_STATIC_INLINE_PREFIX int MPIDI_BUFENLARGE_progress(int vci_number, int *made_progress_p)
{
    MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_vci(vci_number);
    int mpi_errno = MPI_SUCCESS;
    MPIR_FUNC_ENTER;

    /* With sessions MPI may make progress before MPI_COMM_WORLD exists, or without it. */
    if (unlikely(vci->context == NULL || vci->in_progress))
        goto fn_exit;
    vci->in_progress = true;
    unsigned moved = bufenlarge_context_progress(vci->context);
    if (unlikely(vci->busy || vci->batches || vci->lost || vci->mpi_errno
                 || MPL_atomic_relaxed_load_int(&vci->watches)
                 || MPIDI_global.sigusr1_count > MPIDI_global.my_sigusr1_count))
        mpi_errno = MPIDI_BUFENLARGE_dequeue(vci, &moved);
    vci->in_progress = false;
    if (moved > 0) {
        vci->rounds_empty = 0;
        *made_progress_p = 1;
    } else {
        MPIDI_BUFENLARGE_maybe_yield(vci);
    }

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
}

#endif /* BUFENLARGE_PROGRESS_H_INCLUDED */
