/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_dynproc.c: processes outside MPI_COMM_WORLD (spawn, connect, accept, join). They need
 * addresses that can be passed on and a job key that can be shared with another job, neither of
 * which this netmod has yet, so each way in ends with an error that says so. Intercommunicators
 * within MPI_COMM_WORLD do not come here.
 */
#include "mpidimpl.h"
#include "bufenlarge_noinline.h"

static int not_supported(void)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**bufenlarge_dynproc");
    return mpi_errno;
}

int MPIDI_BUFENLARGE_get_local_upids(MPIR_Comm * comm, int **local_upid_size, char **local_upids)
{
    return not_supported();
}

int MPIDI_BUFENLARGE_upids_to_gpids(int size, int *remote_upid_size, char *remote_upids,
                                    uint64_t * remote_gpids)
{
    return not_supported();
}

int MPIDI_BUFENLARGE_dynamic_send(uint64_t remote_gpid, int tag, const void *buf, int size,
                                  int timeout)
{
    return not_supported();
}

int MPIDI_BUFENLARGE_dynamic_recv(int tag, void *buf, int size, int timeout)
{
    return not_supported();
}
