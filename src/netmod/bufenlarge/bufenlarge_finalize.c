/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_finalize.c: MPI_Finalize without losing a message and without hanging.
 *
 * No process may stop making progress while another one still needs it. A process needs the others as
 * long as it has a backlog or the library has not written all it took: the receiver has to free slots,
 * acknowledge an enlargement, accept a connection.
 *
 * The receiver waits for nearly all such messages and is then not in MPI_Finalize yet. It does not wait
 * for an eager message that is never received, or for the acknowledgement of an MPI_Issend whose request
 * was freed. With these, draining first and then entering the process manager's barrier would hang: the
 * receiver may already be in that barrier, which makes no progress.
 *
 * So a thread of its own waits for the barrier, while this one goes on making progress:
 *
 *   1. drain: progress until there is no backlog and the library is idle
 *   2. the process manager's barrier, with progress
 *   3. disconnect requests to the processes of other jobs that are connected (bufenlarge_disconnect.c)
 *   4. close
 *
 * No process hangs in 1: each makes progress until it leaves 2, and 2 ends only after all have entered
 * it, that is, have ended 1. No process loses a message in 4: a process that is there has seen 2 end, so
 * all have ended 1. A handler that runs during 2 may reply to a process that waits for the reply and so
 * has not entered MPI_Finalize; 2 cannot end before that process enters it, so the reply arrives as well.
 *
 * A barrier made of messages between the processes would also do, but it opens log2(N) connections per
 * process that the job had no use for. With the process manager's barrier MPI_Finalize opens none.
 *
 * With the summary on, each process makes its report after 1, because the reports themselves open and
 * enlarge channels, and after one more barrier they come to rank 0 along a tree: each process waits for
 * those of its children and sends them on with its own. The barrier of 2 keeps all processes in place until
 * rank 0 has them. The wait is limited, because a process may be lost, and longer the higher a process is
 * in the tree, so that its children give up before it does.
 */
#include "mpidimpl.h"
#include "bufenlarge_noinline.h"
#include "bufenlarge_end.h"
#include "bufenlarge_events.h"
#include "bufenlarge_exchange.h"
#include "bufenlarge_failure.h"
#include "bufenlarge_memory.h"
#include "bufenlarge_spawn.h"
#include <pthread.h>
#include <signal.h>

/* How long a process waits for the reports of its children, and how much longer for each step of the tree below it. */
#define REPORTS_WAIT_SECONDS 10.0
#define REPORTS_WAIT_STEP_SECONDS 2.0

/* A process that is lost while this one is in the barrier may have left it, and closed: only when the barrier does not
 * end in this time it was not that. */
#define LEFT_WAIT_SECONDS 2.0

/* How long the barrier may last after a process of the own job was lost: all others leave it in that time once it has
 * ended. The survivors meet earlier, unless one of them does not know of the loss. */
#define LOST_WAIT_SECONDS 5.0

/* How long a process that does not wait for the barrier any more goes on making progress, until its last words are
 * written: the survivors' decision. And how much longer at least, in which the barrier may end after all. */
#define LAST_WORDS_SECONDS 1.0
#define LAST_LOOK_SECONDS 0.05

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

/* Starts the thread, with all signals blocked: they are for the application's own threads. */
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

/* Makes progress in shared memory too: a process of the same node may wait for what is queued there. It
 * does not call MPID_Progress, which also talks to the process manager. */
static int make_progress(void)
{
    int mpi_errno = MPI_SUCCESS;
    for (int vci = 0; vci < MPIDI_BUFENLARGE_VCIS && mpi_errno == MPI_SUCCESS; vci++) {
        int made_progress = 0;
        mpi_errno = MPIDI_BUFENLARGE_progress(vci, &made_progress);
#ifndef MPIDI_CH4_DIRECT_NETMOD
        if (mpi_errno == MPI_SUCCESS)
            mpi_errno = MPIDI_BUFENLARGE_shm_progress(vci, &made_progress);
#endif
    }
    return mpi_errno;
}

/* Whether a context may be closed. The barrier of MPI_Finalize tells that the processes of the own job have got what
 * was sent to them, but nothing tells it of another job's. */
static bool may_close(bufenlarge_context_t * context)
{
    return MPIDI_BUFENLARGE_global.met_other_job ? bufenlarge_context_idle(context)
        : bufenlarge_context_written(context);
}

static bool all_may_close(void)
{
    for (int i = 0; i < MPIDI_BUFENLARGE_VCIS; i++) {
        const MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_vci(i);
        if (vci->busy != NULL || !may_close(vci->context))
            return false;
    }
    return true;
}

/* Whether a process of the own job has failed, or may have: a signal that nobody has asked about tells of one of any
 * job, and others that want to meet know of one. */
static bool any_own_lost(void)
{
    for (int i = 0; i < MPIDI_BUFENLARGE_VCIS; i++) {
        if (MPIDI_BUFENLARGE_vci(i)->own_lost)
            return true;
    }
    return MPIDI_BUFENLARGE_own_failures > 0 || MPIDI_BUFENLARGE_failure_is_to_be_asked()
        || MPIDI_BUFENLARGE_survivors_wait();
}

/* Makes progress until all backlogs are empty: their messages are sent, or the peer is lost and they are
 * given up. Returns the first error, after the rest has been done. */
static int drain(void)
{
    int mpi_errno = MPI_SUCCESS;
    do {
        int error = make_progress();
        if (mpi_errno == MPI_SUCCESS)
            mpi_errno = error;
    } while (!all_may_close());
    return mpi_errno;
}

/* Other processes may have left the barrier, and closed, before this one learns that it has ended: their loss is no
 * error then. But a process that ended without MPI_Finalize never enters the barrier. Where the process manager lets
 * the others live (mpiexec -disable-auto-cleanup, MPI_Abort of a part of the job) they may not wait for ever: they meet
 * without it. */
static bool waits_in_vain(MPL_time_t * since, bool * is_set, bool lost_before)
{
    if (!any_own_lost())
        return false;
    if (!*is_set)
        MPL_wtime(since);
    *is_set = true;
    const double seconds = MPIDI_BUFENLARGE_seconds_since(since);
    const bool is_certain = lost_before || MPIDI_BUFENLARGE_failure_is_to_be_asked()
        || MPIDI_BUFENLARGE_survivors_wait();
    if (!is_certain && seconds < LEFT_WAIT_SECONDS)
        return false;
    return MPIDI_BUFENLARGE_survivors_met() || seconds >= LOST_WAIT_SECONDS;
}

/* Returns whether the barrier has ended meanwhile. */
static bool ends_at_last(barrier_t * barrier)
{
    MPL_time_t since;
    double seconds = 0;
    MPL_wtime(&since);
    while (seconds < LAST_LOOK_SECONDS || (seconds < LAST_WORDS_SECONDS && !all_may_close())) {
        make_progress();
        seconds = MPIDI_BUFENLARGE_seconds_since(&since);
    }
    return MPL_atomic_acquire_load_int(&barrier->done);
}

static int barrier_with_progress(void)
{
    barrier_t barrier;
    MPL_time_t since;
    bool is_set = false, in_vain = false;
    if (MPIR_Process.size == 1)
        return MPI_SUCCESS;
    /* Nobody asks the process manager while the thread waits for it. */
    while (MPIDI_BUFENLARGE_failure_is_to_be_asked())
        make_progress();
    const bool lost_before = any_own_lost();
    /* Without a thread the hang described above is possible. */
    if (!barrier_start(&barrier))
        return MPIR_pmi_barrier();
    MPIDI_BUFENLARGE_global.waits_for_manager = true;
    while (!MPL_atomic_acquire_load_int(&barrier.done) && !in_vain) {
        make_progress();
        in_vain = waits_in_vain(&since, &is_set, lost_before);
    }
    in_vain = in_vain && !ends_at_last(&barrier);
    if (in_vain) {
        pthread_cancel(barrier.thread); /* it reads from a pipe that stays empty */
        MPIDI_BUFENLARGE_own_failures = MPL_MAX(MPIDI_BUFENLARGE_own_failures, 1);
    }
    pthread_join(barrier.thread, NULL);
    MPIDI_BUFENLARGE_global.waits_for_manager = false;
    return in_vain ? MPI_SUCCESS : barrier.mpi_errno;
}

static void await_reports(void)
{
    const double limit = REPORTS_WAIT_SECONDS + REPORTS_WAIT_STEP_SECONDS * MPIDI_BUFENLARGE_report_height();
    MPL_time_t begin;
    MPL_wtime(&begin);
    while (MPIDI_BUFENLARGE_report_missing() && MPIDI_BUFENLARGE_seconds_since(&begin) < limit)
        make_progress();
}

/* When a report cannot be made or sent, rank 0 prints that it is missing; there is no other effect. */
static int summarize(void)
{
    MPIDI_BUFENLARGE_report_take();
    int mpi_errno = barrier_with_progress();
    await_reports();
    MPIDI_BUFENLARGE_report_send();
    drain();
    if (MPIR_Process.rank == 0)
        MPIDI_BUFENLARGE_report_print();
    return mpi_errno;
}

static int finish_messages(void)
{
    int mpi_errno = drain();
    int error = MPI_SUCCESS;
    if (MPIDI_BUFENLARGE_global.knobs.summary)
        error = summarize();
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = error;
    MPIDI_BUFENLARGE_events_leave();
    error = barrier_with_progress();
    return mpi_errno != MPI_SUCCESS ? mpi_errno : error;
}

static void disconnect(void)
{
    MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_main_vci();
    MPL_time_t begin;
    if (!MPIDI_BUFENLARGE_disconnect_send(vci))
        return;
    MPL_wtime(&begin);
    while (!MPIDI_BUFENLARGE_disconnect_done(vci, &begin))
        make_progress();
    drain();
}

int MPIDI_BUFENLARGE_mpi_finalize_hook(void)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_FUNC_ENTER;

    /* With sessions there may never have been an MPI_COMM_WORLD. */
    if (MPIDI_BUFENLARGE_main_vci()->context != NULL) {
        mpi_errno = finish_messages();
        disconnect();
        MPIDI_BUFENLARGE_ended_free();
        MPIDI_BUFENLARGE_events_end();
        for (int i = 0; i < MPIDI_BUFENLARGE_VCIS; i++) {
            bufenlarge_context_close(MPIDI_BUFENLARGE_vci(i)->context);
            MPIDI_BUFENLARGE_peers_free(MPIDI_BUFENLARGE_vci(i));
        }
        MPIDI_BUFENLARGE_spawn_finalize();
        MPIDI_BUFENLARGE_consensus_free();
        MPIDI_BUFENLARGE_failures_free();
        MPIDI_BUFENLARGE_persistent_free();
        MPIDI_BUFENLARGE_revoked_free();
        MPIDI_BUFENLARGE_revoked_early_free();
        const int error = MPIDI_BUFENLARGE_addresses_free();
        mpi_errno = mpi_errno != MPI_SUCCESS ? mpi_errno : error;
    }
    bufenlarge_options_destroy(MPIDI_BUFENLARGE_global.options);
    memset(&MPIDI_BUFENLARGE_global, 0, sizeof(MPIDI_BUFENLARGE_global));

    MPIR_FUNC_EXIT;
    return mpi_errno;
}
