/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_meeting.c: agreements of the members of a communicator, and of the processes of a job that end MPI.
 */
#include "mpidimpl.h"
#include "bufenlarge_consensus.h"
#include <unistd.h>

/* How long a thread that waits for an agreement leaves the lock to others, in microseconds. */
#define OTHERS_US 20

typedef MPIDI_BUFENLARGE_decision_t decision_t;
typedef MPIDI_BUFENLARGE_consensus_t consensus_t;

static bool bit(const unsigned char *bits, int rank)
{
    return (bits[rank / 8] >> (rank % 8) & 1) != 0;
}

/* -- communicators -- */

static consensus_t *consensus_of(MPIR_Comm * comm)
{
    if (MPIDI_COMM(comm, netmod.bufenlarge).consensus == NULL)
        MPIDI_COMM(comm, netmod.bufenlarge).consensus = MPIDI_BUFENLARGE_consensus_create(comm);
    return MPIDI_COMM(comm, netmod.bufenlarge).consensus;
}

/* Another thread may have to send what another member waits for before it agrees. A lock that is free for an instant
 * only is hardly ever theirs. Of the two locks MPICH's configuration has one. */
static void let_other_threads(void)
{
    if (!MPIR_IS_THREADED)
        return;
    MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(0));
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    usleep(OTHERS_US);
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(0));
}

/* Waits for the decision. is_failed and heard have room for each member. */
static int decide_together(consensus_t * consensus, bool * is_failed, bool * heard)
{
    int mpi_errno = MPI_SUCCESS, asked = -1;
    MPIDI_BUFENLARGE_consensus_advance(consensus, is_failed, heard, &asked);
    while (!consensus->current.made) {
        mpi_errno = MPIDI_progress_test_vci(0);
        MPIR_ERR_CHECK(mpi_errno);
        MPIDI_BUFENLARGE_consensus_advance(consensus, is_failed, heard, &asked);
        let_other_threads();
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Takes the decision: which have failed, and whether all of these are acknowledged. */
static bool take(const decision_t * decision, uint32_t size, bool * is_failed)
{
    bool all_known = true;
    for (int rank = 0; rank < (int) size; rank++) {
        is_failed[rank] = bit(decision->bits, rank);
        all_known &= !is_failed[rank] || bit(decision->bits + MPIDI_BUFENLARGE_row_bytes(size), rank);
    }
    return all_known;
}

int MPIDI_BUFENLARGE_consensus(MPIR_Comm * comm, uint32_t * word_p, bool * all_known_p, bool * is_failed)
{
    int mpi_errno = MPI_SUCCESS;
    bool *heard = MPL_calloc((size_t) comm->local_size, sizeof(bool), MPL_MEM_COMM);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(0));
    MPIR_ERR_CHKANDJUMP(!heard, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    consensus_t *consensus = consensus_of(comm);
    MPIDI_BUFENLARGE_failed_members(comm, MPIDI_COMM(comm, netmod.bufenlarge).acknowledged, is_failed);
    MPIDI_BUFENLARGE_consensus_begin(consensus, *word_p, is_failed);
    mpi_errno = decide_together(consensus, is_failed, heard);
    MPIR_ERR_CHECK(mpi_errno);
    *word_p = consensus->current.word;
    *all_known_p = take(&consensus->current, consensus->size, is_failed);

  fn_exit:
    MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(0));
    MPL_free(heard);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* -- attempts to make a communicator without those that have failed -- */

int MPIDI_BUFENLARGE_repair_tag(MPIR_Comm * comm)
{
    const uint32_t attempt = consensus_of(comm)->current.sequence % MPIDI_BUFENLARGE_REPAIR_ATTEMPTS;
    return MPIDI_BUFENLARGE_REPAIR_TAG + (int) attempt;
}

void MPIDI_BUFENLARGE_repair_give_up(MPIR_Comm * comm)
{
    MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(0));
    MPIDI_BUFENLARGE_consensus_warn(consensus_of(comm));
    MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(0));
}

void MPIDI_BUFENLARGE_consensus_forget(MPIR_Comm * comm)
{
    if (MPIDI_COMM(comm, netmod.bufenlarge).consensus != NULL)
        MPIDI_BUFENLARGE_consensus_destroy(MPIDI_COMM(comm, netmod.bufenlarge).consensus);
    MPIDI_COMM(comm, netmod.bufenlarge).consensus = NULL;
}

/* -- MPI_Finalize -- */

static struct {
    consensus_t *consensus;
    bool *is_failed, *heard;
    int asked;
} meeting;

/* Once more when the last meeting is over. */
static bool begin_meeting(void)
{
    const size_t size = (size_t) MPIR_Process.size;
    if (meeting.consensus == NULL) {
        meeting.consensus = MPIDI_BUFENLARGE_consensus_create(NULL);
        meeting.is_failed = MPL_calloc(size, sizeof(bool), MPL_MEM_COMM);
        meeting.heard = MPL_calloc(size, sizeof(bool), MPL_MEM_COMM);
    }
    if (meeting.is_failed == NULL || meeting.heard == NULL)
        return false;
    if (meeting.consensus->current.sequence == 0 || meeting.consensus->current.made) {
        memset(meeting.is_failed, 0, size * sizeof(bool));
        MPIDI_BUFENLARGE_consensus_begin(meeting.consensus, 0, meeting.is_failed);
        meeting.asked = -1;
    }
    return true;
}

bool MPIDI_BUFENLARGE_survivors_wait(void)
{
    return MPIDI_BUFENLARGE_consensus_is_waited_for(MPIDI_BUFENLARGE_FINALIZE_CONTEXT);
}

bool MPIDI_BUFENLARGE_survivors_met(void)
{
    if (!begin_meeting())
        return false;
    MPIDI_BUFENLARGE_consensus_advance(meeting.consensus, meeting.is_failed, meeting.heard, &meeting.asked);
    return meeting.consensus->current.made;
}

void MPIDI_BUFENLARGE_consensus_free(void)
{
    if (meeting.consensus != NULL)
        MPIDI_BUFENLARGE_consensus_destroy(meeting.consensus);
    MPL_free(meeting.is_failed);
    MPL_free(meeting.heard);
    memset(&meeting, 0, sizeof(meeting));
    MPIDI_BUFENLARGE_consensus_clear();
}
