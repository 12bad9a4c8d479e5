/* SPDX-License-Identifier: MIT */
/* bufenlarge_failure_errors.c: the error of what waits for a process that has failed, or in a communicator that was
 * revoked; MPI_SUCCESS while it may wait. */
#include "mpidimpl.h"
#include "bufenlarge_failure.h"

int MPIDI_BUFENLARGE_revoked_error(void)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_ERR_SETSIMPLE(mpi_errno, MPIX_ERR_REVOKED, "**revoked");
    return mpi_errno;
}

/* -- one process -- */

static int process_error(const MPIDI_BUFENLARGE_vci_t * vci, uint32_t number)
{
    const MPIDI_BUFENLARGE_peer_t *peer = MPIDI_BUFENLARGE_peer_known(vci, number);
    return peer && peer->lost_text ? MPIDI_BUFENLARGE_peer_error(peer) : MPI_SUCCESS;
}

int MPIDI_BUFENLARGE_rank_error(const MPIDI_BUFENLARGE_vci_t * vci, MPIR_Comm * comm, int rank)
{
    return rank < 0 ? MPI_SUCCESS : process_error(vci, MPIDI_BUFENLARGE_number_of(comm, rank));
}

/* The error of a send to this process, if it is known to have failed. MPIDIG would use the shared memory of a node. */
int MPIDI_BUFENLARGE_send_error(const MPIDI_av_entry_t * av, int vci)
{
    return process_error(MPIDI_BUFENLARGE_vci(vci), av->netmod.bufenlarge.number);
}

/* -- all processes of a communicator -- */

int MPIDI_BUFENLARGE_any_source_error(MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS;
    if (!MPIDI_BUFENLARGE_anysource_enabled(comm))
        MPIR_ERR_SETSIMPLE(mpi_errno, MPIX_ERR_PROC_FAILED, "**proc_failed");
    return mpi_errno;
}

int MPIDI_BUFENLARGE_probe_error(MPIR_Comm * comm, int source, int vci_number)
{
    MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(vci_number));
    const int mpi_errno = source >= 0 ? MPIDI_BUFENLARGE_rank_error(MPIDI_BUFENLARGE_vci(vci_number), comm, source)
        : MPIDI_BUFENLARGE_any_source_error(comm);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(vci_number));
    return mpi_errno;
}

int MPIDI_BUFENLARGE_members_error(const MPIDI_BUFENLARGE_vci_t * vci, MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS;
    for (int rank = 0; mpi_errno == MPI_SUCCESS && rank < comm->local_size; rank++)
        mpi_errno = MPIDI_BUFENLARGE_rank_error(vci, comm, rank);
    return mpi_errno;
}

/* Without any lock. */
int MPIDI_BUFENLARGE_comm_error(MPIR_Comm * comm)
{
    const MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_main_vci();
    if (likely(!MPL_atomic_relaxed_load_int(&vci->watches))
        || (MPIDI_BUFENLARGE_failure_count() == 0 && !MPIDI_BUFENLARGE_any_revoked()))
        return MPI_SUCCESS;
    MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(0));
    int mpi_errno = MPIDI_BUFENLARGE_members_error(vci, comm);
    if (mpi_errno == MPI_SUCCESS && MPIDI_BUFENLARGE_is_ended(comm))
        mpi_errno = MPIDI_BUFENLARGE_revoked_error();
    MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(0));
    return mpi_errno;
}
