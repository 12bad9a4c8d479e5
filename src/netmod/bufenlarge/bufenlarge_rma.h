/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_rma.h: one-sided communication. MPI_Get and MPI_Rget look first whether they can read
 * (bufenlarge_window.c); the rest is MPIDIG's.
 */
#ifndef BUFENLARGE_RMA_H_INCLUDED
#define BUFENLARGE_RMA_H_INCLUDED

#include "bufenlarge_impl.h"

/* The same functions for all that is not done here, under their own names. */
#define MPIDI_NM_mpi_get MPIDI_BUFENLARGE_get_by_message
#define MPIDI_NM_mpi_rget MPIDI_BUFENLARGE_rget_by_message
#include "netmod_am_fallback_rma.h"
#undef MPIDI_NM_mpi_get
#undef MPIDI_NM_mpi_rget

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_rget(void *origin_addr, int origin_count,
                                               MPI_Datatype origin_datatype, int target_rank,
                                               MPI_Aint target_disp, int target_count,
                                               MPI_Datatype target_datatype, MPIR_Win * win,
                                               MPIDI_av_entry_t * addr, MPIDI_winattr_t winattr,
                                               MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_FUNC_ENTER;

    MPIDIG_RMA_OP_CHECK_SYNC(target_rank, win);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    mpi_errno = MPIDI_BUFENLARGE_get(origin_addr, origin_count, origin_datatype, target_rank,
                                     target_disp, target_count, target_datatype, win, request);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
    MPIR_ERR_CHECK(mpi_errno);
    if (*request == NULL)
        mpi_errno = MPIDI_BUFENLARGE_rget_by_message(origin_addr, origin_count, origin_datatype,
                                                     target_rank, target_disp, target_count,
                                                     target_datatype, win, addr, winattr, request);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_get(void *origin_addr, int origin_count,
                                              MPI_Datatype origin_datatype, int target_rank,
                                              MPI_Aint target_disp, int target_count,
                                              MPI_Datatype target_datatype, MPIR_Win * win,
                                              MPIDI_av_entry_t * addr, MPIDI_winattr_t winattr)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *request;
    MPIR_FUNC_ENTER;

    MPIDIG_RMA_OP_CHECK_SYNC(target_rank, win);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    mpi_errno = MPIDI_BUFENLARGE_get(origin_addr, origin_count, origin_datatype, target_rank,
                                     target_disp, target_count, target_datatype, win, &request);
    if (request)
        MPIDI_CH4_REQUEST_FREE(request);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
    MPIR_ERR_CHECK(mpi_errno);
    if (request == NULL)
        mpi_errno = MPIDI_BUFENLARGE_get_by_message(origin_addr, origin_count, origin_datatype,
                                                    target_rank, target_disp, target_count,
                                                    target_datatype, win, addr, winattr);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

#endif /* BUFENLARGE_RMA_H_INCLUDED */
