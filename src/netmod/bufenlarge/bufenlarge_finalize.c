/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_finalize.c: MPI_Finalize without losing a message and without hanging.
 *
 * What has to be had: no process stops making progress while another one still needs it. A process
 * needs the others as long as it has a backlog or the library has not written all it took:
 * the receiver has to free slots, to answer an enlargement, to accept a connection.
 *
 * Nearly all such messages are waited for by their receiver, which is then not in MPI_Finalize yet.
 * Not all: an eager message that is never received, the acknowledgement of an MPI_Issend whose
 * request was freed. To drain first and enter the process manager's barrier then, as one would, hangs
 * with them: the receiver may already be in that barrier, which makes no progress.
 *
 * So the barrier is waited for in a thread of its own, while this one goes on making progress:
 *
 *   1. drain: progress until there is no backlog and the library is idle
 *   2. the process manager's barrier, with progress
 *   3. leave of the processes of other jobs that there are connections to (bufenlarge_disconnect.c)
 *   4. close
 *
 * Nobody is stuck in 1: each process makes progress until it leaves 2, and 2 ends only after all
 * have entered it, that is have ended 1. Nobody loses anything in 4: whoever is there has seen 2
 * end, so all have ended 1. A handler that runs during 2 may reply; it is to somebody who waits for
 * the reply and so has not entered MPI_Finalize; that it is gone is ensured by the same argument, as
 * 2 cannot end before that one has come.
 *
 * A barrier of messages between the processes would do as well, but open connections, log2(N) per
 * process, that the job had no use for; with the process manager's, MPI_Finalize opens none.
 *
 * With the summary on, each process writes its report after 1, since the reports themselves open and
 * enlarge channels, and only after a barrier more do they go to rank 0. A second barrier tells rank
 * 0 that all have been sent, and the one of 2 keeps all in place until it has them. Rank 0 waits for
 * stragglers a limited time only, since a process may have failed to reach it.
 */
#include "mpidimpl.h"
#include "bufenlarge_noinline.h"
#include <pthread.h>
#include <signal.h>

/* For reports that are on their way when all processes have sent theirs. */
#define REPORTS_WAIT_SECONDS 10.0

/* After a process of the own job was lost. Long enough for all others to leave the barrier when it has ended. */
#define LOST_WAIT_SECONDS 10.0

typedef struct {
    pthread_t thread;
    MPL_atomic_int_t done;
    int mpi_errno;
} barrier_t;

static void *wait_for_barrier(void *arg)
{
    barrier_t *barrier = arg;
    barrier->mpi_errno = MPIR_pmi_barrier();
    MPL_atomic_release_store_int(&barrier->done, 1);
    return NULL;
}

/* Signals are left to the application's own threads. */
static bool barrier_start(barrier_t * barrier)
{
    sigset_t all, before;
    MPL_atomic_store_int(&barrier->done, 0);
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    int error = pthread_create(&barrier->thread, NULL, wait_for_barrier, barrier);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

/* Shared memory too: a process of the same node may wait for what is queued there. Not MPID_Progress,
 * which also talks to the process manager. */
static int make_progress(void)
{
    int mpi_errno = MPI_SUCCESS;
    for (int vci = 0; vci < MPIDI_global.n_vcis && mpi_errno == MPI_SUCCESS; vci++) {
        mpi_errno = MPIDI_NM_progress(vci, 0);
#ifndef MPIDI_CH4_DIRECT_NETMOD
        if (mpi_errno == MPI_SUCCESS)
            mpi_errno = MPIDI_SHM_progress(vci, 0);
#endif
    }
    return mpi_errno;
}

static bool all_idle(void)
{
    for (int i = 0; i < MPIDI_global.n_vcis; i++) {
        const MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_vci(i);
        if (vci->busy != NULL || !bufenlarge_context_idle(vci->context))
            return false;
    }
    return true;
}

static bool any_own_lost(void)
{
    for (int i = 0; i < MPIDI_global.n_vcis; i++) {
        if (MPIDI_BUFENLARGE_vci(i)->own_lost)
            return true;
    }
    return false;
}

/* Every backlog ends: its messages go, or the peer is found lost and they are given up. The first error
 * is returned, when the rest has been done. */
static int drain(void)
{
    int mpi_errno = MPI_SUCCESS;
    do {
        int error = make_progress();
        if (mpi_errno == MPI_SUCCESS)
            mpi_errno = error;
    } while (!all_idle());
    return mpi_errno;
}

/* Others may have left the barrier, and closed, before we know that it has ended: that they are
 * lost then is no error. But one that has ended without MPI_Finalize never comes to it. Where the process manager
 * lets the others live (mpiexec -disable-auto-cleanup, MPI_Abort of a part of the job) they are not to wait for ever. */
static bool waits_in_vain(MPL_time_t * since, bool * is_set)
{
    if (!any_own_lost())
        return false;
    if (!*is_set)
        MPL_wtime(since);
    *is_set = true;
    return MPIDI_BUFENLARGE_seconds_since(since) >= LOST_WAIT_SECONDS;
}

static int barrier_with_progress(void)
{
    barrier_t barrier;
    MPL_time_t since;
    bool is_set = false, in_vain = false;
    if (MPIR_Process.size == 1)
        return MPI_SUCCESS;
    /* Without a thread there is the small risk described above. */
    if (!barrier_start(&barrier))
        return MPIR_pmi_barrier();
    while (!MPL_atomic_acquire_load_int(&barrier.done) && !in_vain) {
        make_progress();
        in_vain = waits_in_vain(&since, &is_set);
    }
    if (in_vain)
        pthread_cancel(barrier.thread); /* it reads what will not come */
    pthread_join(barrier.thread, NULL);
    return in_vain ? MPI_SUCCESS : barrier.mpi_errno;
}

static void await_reports(void)
{
    MPL_time_t begin;
    MPL_wtime(&begin);
    while (MPIDI_BUFENLARGE_report_missing()
           && MPIDI_BUFENLARGE_seconds_since(&begin) < REPORTS_WAIT_SECONDS)
        make_progress();
}

/* A report that cannot be written or sent is missed, and named, at rank 0; nothing else comes of it. */
static int summarize(void)
{
    MPIDI_BUFENLARGE_report_take();
    int mpi_errno = barrier_with_progress();
    MPIDI_BUFENLARGE_report_send();
    drain();
    int error = barrier_with_progress();
    if (MPIR_Process.rank == 0) {
        await_reports();
        MPIDI_BUFENLARGE_report_print();
    }
    return mpi_errno != MPI_SUCCESS ? mpi_errno : error;
}

static int finish_messages(void)
{
    int mpi_errno = drain();
    int error = MPI_SUCCESS;
    if (bufenlarge_options_summary(MPIDI_BUFENLARGE_global.options))
        error = summarize();
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = error;
    error = barrier_with_progress();
    return mpi_errno != MPI_SUCCESS ? mpi_errno : error;
}

static void take_leave(void)
{
    MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_main_vci();
    MPL_time_t begin;
    if (!MPIDI_BUFENLARGE_farewell_send(vci))
        return;
    MPL_wtime(&begin);
    while (!MPIDI_BUFENLARGE_farewell_done(vci, &begin))
        make_progress();
    drain();
}

int MPIDI_BUFENLARGE_mpi_finalize_hook(void)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_FUNC_ENTER;

    /* With sessions there may never have been a world. */
    if (MPIDI_BUFENLARGE_main_vci()->context != NULL) {
        mpi_errno = finish_messages();
        take_leave();
        for (int i = 0; i < MPIDI_global.n_vcis; i++) {
            bufenlarge_context_close(MPIDI_BUFENLARGE_vci(i)->context);
            MPIDI_BUFENLARGE_peers_free(MPIDI_BUFENLARGE_vci(i));
        }
        MPIDI_BUFENLARGE_dynamic_forget();
    }
    bufenlarge_options_destroy(MPIDI_BUFENLARGE_global.options);
    memset(&MPIDI_BUFENLARGE_global, 0, sizeof(MPIDI_BUFENLARGE_global));

    MPIR_FUNC_EXIT;
    return mpi_errno;
}
