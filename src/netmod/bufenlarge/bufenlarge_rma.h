/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_rma.h: one-sided communication. Put and Get first try a data path of the netmod
 * (bufenlarge_rma_origin.c); MPIDIG does the rest, and its synchronization calls the hooks below first.
 */
#ifndef BUFENLARGE_RMA_H_INCLUDED
#define BUFENLARGE_RMA_H_INCLUDED

#include "bufenlarge_rma_impl.h"

/* MPIDIG's functions for everything that is not done here, under names of their own. */
#define MPIDI_NM_mpi_put MPIDI_BUFENLARGE_put_by_am
#define MPIDI_NM_mpi_rput MPIDI_BUFENLARGE_rput_by_am
#define MPIDI_NM_mpi_get MPIDI_BUFENLARGE_get_by_am
#define MPIDI_NM_mpi_rget MPIDI_BUFENLARGE_rget_by_am
#define MPIDI_NM_rma_win_cmpl_hook MPIDI_BUFENLARGE_no_win_cmpl_hook
#define MPIDI_NM_rma_win_local_cmpl_hook MPIDI_BUFENLARGE_no_win_local_cmpl_hook
#define MPIDI_NM_rma_target_cmpl_hook MPIDI_BUFENLARGE_no_target_cmpl_hook
#define MPIDI_NM_rma_target_local_cmpl_hook MPIDI_BUFENLARGE_no_target_local_cmpl_hook
#include "netmod_am_fallback_rma.h"
#undef MPIDI_NM_mpi_put
#undef MPIDI_NM_mpi_rput
#undef MPIDI_NM_mpi_get
#undef MPIDI_NM_mpi_rget
#undef MPIDI_NM_rma_win_cmpl_hook
#undef MPIDI_NM_rma_win_local_cmpl_hook
#undef MPIDI_NM_rma_target_cmpl_hook
#undef MPIDI_NM_rma_target_local_cmpl_hook

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rma_win_cmpl_hook(MPIR_Win * win)
{
    return MPIDI_BUFENLARGE_rma_flush(win, -1, true);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rma_win_local_cmpl_hook(MPIR_Win * win)
{
    return MPIDI_BUFENLARGE_rma_flush(win, -1, false);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rma_target_cmpl_hook(int rank, MPIR_Win * win)
{
    return rank < 0 ? MPI_SUCCESS : MPIDI_BUFENLARGE_rma_flush(win, rank, true);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rma_target_local_cmpl_hook(int rank, MPIR_Win * win)
{
    return rank < 0 ? MPI_SUCCESS : MPIDI_BUFENLARGE_rma_flush(win, rank, false);
}

/* Defines MPIDI_NM_mpi_NAME and MPIDI_NM_mpi_rNAME. */
#define MPIDI_BUFENLARGE_RMA(NAME, BUFFER)                                                         \
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_##NAME(BUFFER origin_addr,                               \
                                                 MPIDI_BUFENLARGE_count_t origin_count,            \
                                                 MPI_Datatype origin_datatype, int target_rank,    \
                                                 MPI_Aint target_disp,                             \
                                                 MPIDI_BUFENLARGE_count_t target_count,            \
                                                 MPI_Datatype target_datatype, MPIR_Win * win,     \
                                                 MPIDI_av_entry_t * addr, MPIDI_winattr_t winattr) \
{                                                                                                  \
    int mpi_errno = MPI_SUCCESS;                                                                   \
    MPIR_FUNC_ENTER;                                                                               \
    MPIDIG_RMA_OP_CHECK_SYNC(target_rank, win);                                                    \
    MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(MPIDI_WIN(win, am_vci)));                      \
    const bool begun =                                                                             \
        MPIDI_BUFENLARGE_##NAME(origin_addr, origin_count, origin_datatype, target_rank,           \
                                target_disp, target_count, target_datatype, win, NULL);            \
    MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(MPIDI_WIN(win, am_vci)));                       \
    if (unlikely(!begun))                                                                          \
        mpi_errno =                                                                                \
            MPIDI_BUFENLARGE_##NAME##_by_am(origin_addr, origin_count, origin_datatype,            \
                                                 target_rank, target_disp, target_count,           \
                                                 target_datatype, win, addr, winattr);             \
  fn_exit:                                                                                         \
    MPIR_FUNC_EXIT;                                                                                \
    return mpi_errno;                                                                              \
  fn_fail:                                                                                         \
    goto fn_exit;                                                                                  \
}                                                                                                  \
                                                                                                   \
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_r##NAME(BUFFER origin_addr,                              \
                                                  MPIDI_BUFENLARGE_count_t origin_count,           \
                                                  MPI_Datatype origin_datatype, int target_rank,   \
                                                  MPI_Aint target_disp,                            \
                                                 MPIDI_BUFENLARGE_count_t target_count,            \
                                                  MPI_Datatype target_datatype, MPIR_Win * win,    \
                                                  MPIDI_av_entry_t * addr,                         \
                                                  MPIDI_winattr_t winattr, MPIR_Request ** request)\
{                                                                                                  \
    int mpi_errno = MPI_SUCCESS;                                                                   \
    MPIR_FUNC_ENTER;                                                                               \
    MPIDIG_RMA_OP_CHECK_SYNC(target_rank, win);                                                    \
    MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(MPIDI_WIN(win, am_vci)));                      \
    const bool begun =                                                                             \
        MPIDI_BUFENLARGE_##NAME(origin_addr, origin_count, origin_datatype, target_rank,           \
                                target_disp, target_count, target_datatype, win, request);         \
    MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(MPIDI_WIN(win, am_vci)));                       \
    if (unlikely(!begun))                                                                          \
        mpi_errno =                                                                                \
            MPIDI_BUFENLARGE_r##NAME##_by_am(origin_addr, origin_count, origin_datatype,           \
                                                  target_rank, target_disp, target_count,          \
                                                  target_datatype, win, addr, winattr, request);   \
  fn_exit:                                                                                         \
    MPIR_FUNC_EXIT;                                                                                \
    return mpi_errno;                                                                              \
  fn_fail:                                                                                         \
    goto fn_exit;                                                                                  \
}

MPIDI_BUFENLARGE_RMA(put, const void *)
MPIDI_BUFENLARGE_RMA(get, void *)

#endif /* BUFENLARGE_RMA_H_INCLUDED */
