/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_mpich_inline.h: the functions of the netmod that MPICH calls with other parameters in other versions, and
 * MPIDIG's where that is so; see bufenlarge_mpich.h. MPICH 4.0 has a function for each kind of send. Since 4.1 there is
 * one, and `attr` has the kind, in bits beside the context's offset.
 */
#ifndef BUFENLARGE_MPICH_INLINE_H_INCLUDED
#define BUFENLARGE_MPICH_INLINE_H_INCLUDED

#include "bufenlarge_impl.h"
#include "bufenlarge_progress.h"

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rank_is_local(int rank, MPIR_Comm * comm)
{
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 2)
    return MPIDIU_av_is_local(MPIDIU_comm_rank_to_av(comm, rank));
#else
    return MPIDIU_rank_is_local(rank, comm);
#endif
}

#if !MPIDI_BUFENLARGE_MPICH_SINCE(5, 0)
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_comm_get_gpid(MPIR_Comm * comm_ptr, int idx,
                                                    uint64_t * gpid_ptr, bool is_remote)
{
    int avtid = 0, lpid = 0;
    if (comm_ptr->comm_kind == MPIR_COMM_KIND__INTRACOMM || is_remote)
        MPIDIU_comm_rank_to_pid(comm_ptr, idx, &lpid, &avtid);
    else
        MPIDIU_comm_rank_to_pid_local(comm_ptr, idx, &lpid, &avtid);
    *gpid_ptr = MPIDIU_GPID_CREATE(avtid, lpid);
    return MPI_SUCCESS;
}
#endif

/* -- progress -- */

#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 2)
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_progress(int vci, int *made_progress)
{
    return MPIDI_BUFENLARGE_progress(vci, made_progress);
}
#else
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_progress(int vci, int blocking)
{
    int made_progress = 0;
    return MPIDI_BUFENLARGE_progress(vci, &made_progress);
}
#endif

/* -- active messages by matching: this netmod has none -- */

#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 3)
#if MPIDI_BUFENLARGE_MPICH_SINCE(5, 0)
MPL_STATIC_INLINE_PREFIX bool MPIDI_NM_am_can_do_tag(MPIR_Request * rreq)
#else
MPL_STATIC_INLINE_PREFIX bool MPIDI_NM_am_can_do_tag(void)
#endif
{
    return false;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_tag_send(int rank, MPIR_Comm * comm, int handler_id, int tag, const void *buf,
                                                  MPI_Aint count, MPI_Datatype datatype, int src_vci, int dst_vci,
                                                  MPIR_Request * sreq)
{
    MPIR_Assert(0);
    return MPI_SUCCESS;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_tag_recv(int rank, MPIR_Comm * comm, int handler_id, int tag, void *buf,
                                                  MPI_Aint count, MPI_Datatype datatype, int src_vci, int dst_vci,
                                                  MPIR_Request * rreq)
{
    MPIR_Assert(0);
    return MPI_SUCCESS;
}
#endif

/* -- shared memory -- */

/* The receives of a VCI whose data has begun to come through shared memory, by their senders' ranks on the node; NULL
 * when there is no such memory. MPICH declares it later than this file. */
#ifdef MPIDI_CH4_DIRECT_NETMOD
#define MPIDI_BUFENLARGE_SHM_RECEIVES(vci) ((MPIR_Request **) NULL)
#elif MPIDI_BUFENLARGE_MPICH_SINCE(4, 2)
#define MPIDI_BUFENLARGE_SHM_RECEIVES(vci) (MPIDI_POSIX_global.per_vci[vci].active_rreq)
#else
#define MPIDI_BUFENLARGE_SHM_RECEIVES(vci) (MPIDI_POSIX_global.per_vsi[vci].active_rreq)
#endif

/* -- MPIX streams, since 4.1 -- */

/* Whether the message's communicator names its VCI: *vci, the receiver's, whose number the sender uses, too (decision
 * 0019). Shared memory looks at the same one (MPIDI_POSIX_RECV_VSI). */
MPL_STATIC_INLINE_PREFIX bool MPIDI_BUFENLARGE_stream_vci(const MPIR_Comm * comm, int attr, int src_rank, int dst_rank,
                                                          int *vci)
{
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 1) && MPIDI_CH4_MAX_VCIS > 1
    if (likely(comm->stream_comm_type == MPIR_STREAM_COMM_NONE))
        return false;
    int src_vci = 0;
    if (src_rank != MPI_ANY_SOURCE)
        MPIDI_EXPLICIT_VCIS(comm, attr, src_rank, dst_rank, src_vci, *vci);
    else
        MPIDI_EXPLICIT_VCIS(comm, attr, dst_rank, dst_rank, src_vci, *vci);
    return src_vci != 0 || *vci != 0;
#else
    return false;
#endif
}

/* Gives a window on a communicator with MPIX streams one VCI, as all others have. MPICH names one for each process. */
MPL_STATIC_INLINE_PREFIX void MPIDI_BUFENLARGE_window_one_vci(MPIR_Win * win)
{
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 1)
    if (MPIDI_WIN(win, vci_table) != NULL) {
        MPL_free(MPIDI_WIN(win, vci_table));
        MPIDI_WIN(win, vci_table) = NULL;
        MPIDI_WIN(win, am_vci) = 0;
    }
#endif
}

/* MPICH's configure option --enable-ch4-am-only leaves the rest to MPIDIG. */
#ifndef MPIDI_ENABLE_AM_ONLY

/* -- MPIDIG's functions -- */

MPL_STATIC_INLINE_PREFIX int MPIDI_BUFENLARGE_mpidig_isend(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                                                           int rank, int tag, MPIR_Comm * comm, int context_offset,
                                                           MPIDI_av_entry_t * addr, int vci, MPIR_Request ** request,
                                                           bool is_synchronous, int error_bits)
{
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 1)
    MPIDI_BUFENLARGE_MPIDIG_ENTER(vci);
    const int mpi_errno = MPIDIG_mpi_isend(buf, count, datatype, rank, tag, comm, context_offset, addr, vci, vci,
                                           request, is_synchronous, error_bits);
    MPIDI_BUFENLARGE_MPIDIG_EXIT(vci);
    return mpi_errno;
#else
    if (is_synchronous)
        return MPIDIG_mpi_issend(buf, count, datatype, rank, tag, comm, context_offset, addr, vci, vci, request);
    MPIR_Errflag_t errflag = (MPIR_Errflag_t) error_bits;
    return MPIDIG_isend_coll(buf, count, datatype, rank, tag, comm, context_offset, addr, vci, vci, request, &errflag);
#endif
}

MPL_STATIC_INLINE_PREFIX int MPIDI_BUFENLARGE_mpidig_improbe(int source, int tag, MPIR_Comm * comm, int context_offset,
                                                             int vci, int *flag, MPIR_Request ** message,
                                                             MPI_Status * status)
{
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 3)
    return MPIDIG_mpi_improbe(source, tag, comm, context_offset, vci, flag, false, message, status);
#else
    return MPIDIG_mpi_improbe(source, tag, comm, context_offset, vci, flag, message, status);
#endif
}

MPL_STATIC_INLINE_PREFIX int MPIDI_BUFENLARGE_mpidig_iprobe(int source, int tag, MPIR_Comm * comm, int context_offset,
                                                            int vci, int *flag, MPI_Status * status)
{
#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 3)
    return MPIDIG_mpi_iprobe(source, tag, comm, context_offset, vci, flag, false, status);
#else
    return MPIDIG_mpi_iprobe(source, tag, comm, context_offset, vci, flag, status);
#endif
}

#include "bufenlarge_pt2pt.h"

/* -- sends -- */

#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 1)
#define MPIDI_BUFENLARGE_CONTEXT_OFFSET(attr) MPIR_PT2PT_ATTR_CONTEXT_OFFSET(attr)
#define MPIDI_BUFENLARGE_IS_SYNCHRONOUS(attr) (MPIR_PT2PT_ATTR_GET_SYNCFLAG(attr) != 0)
#define MPIDI_BUFENLARGE_ERROR_BITS(attr) ((int) MPIR_PT2PT_ATTR_GET_ERRFLAG(attr))
#else
#define MPIDI_BUFENLARGE_CONTEXT_OFFSET(attr) (attr)
#define MPIDI_BUFENLARGE_IS_SYNCHRONOUS(attr) false
#define MPIDI_BUFENLARGE_ERROR_BITS(attr) MPI_SUCCESS
#endif

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_isend(const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank,
                                                int tag, MPIR_Comm * comm, int attr, MPIDI_av_entry_t * addr,
                                                MPIR_Request ** request)
{
    return MPIDI_BUFENLARGE_isend(buf, count, datatype, rank, tag, comm, MPIDI_BUFENLARGE_CONTEXT_OFFSET(attr), addr,
                                  MPIDI_BUFENLARGE_send_vci(comm, attr, rank, tag), request,
                                  MPIDI_BUFENLARGE_IS_SYNCHRONOUS(attr), MPIDI_BUFENLARGE_ERROR_BITS(attr));
}

#if !MPIDI_BUFENLARGE_MPICH_SINCE(4, 1)
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_isend_coll(const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank,
                                                 int tag, MPIR_Comm * comm, int context_offset,
                                                 MPIDI_av_entry_t * addr, MPIR_Request ** request,
                                                 MPIR_Errflag_t * errflag)
{
    return MPIDI_BUFENLARGE_isend(buf, count, datatype, rank, tag, comm, context_offset, addr,
                                  MPIDI_BUFENLARGE_send_vci(comm, 0, rank, tag), request, false, (int) *errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_issend(const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank,
                                                 int tag, MPIR_Comm * comm, int context_offset,
                                                 MPIDI_av_entry_t * addr, MPIR_Request ** request)
{
    return MPIDI_BUFENLARGE_isend(buf, count, datatype, rank, tag, comm, context_offset, addr,
                                  MPIDI_BUFENLARGE_send_vci(comm, 0, rank, tag), request, true, MPI_SUCCESS);
}
#endif

/* -- receives and probes -- */

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_irecv(void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                                                MPIR_Comm * comm, int attr, MPIDI_av_entry_t * addr,
                                                MPIR_Request ** request, MPIR_Request * partner)
{
    return MPIDI_BUFENLARGE_irecv(buf, count, datatype, rank, tag, comm, MPIDI_BUFENLARGE_CONTEXT_OFFSET(attr),
                                  MPIDI_BUFENLARGE_receive_vci(comm, attr, rank, tag), request, partner);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_improbe(int source, int tag, MPIR_Comm * comm, int attr,
                                                  MPIDI_av_entry_t * addr, int *flag, MPIR_Request ** message,
                                                  MPI_Status * status)
{
    return MPIDI_BUFENLARGE_improbe(source, tag, comm, MPIDI_BUFENLARGE_CONTEXT_OFFSET(attr),
                                    MPIDI_BUFENLARGE_receive_vci(comm, attr, source, tag), flag, message, status);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_iprobe(int source, int tag, MPIR_Comm * comm, int attr,
                                                 MPIDI_av_entry_t * addr, int *flag, MPI_Status * status)
{
    return MPIDI_BUFENLARGE_iprobe(source, tag, comm, MPIDI_BUFENLARGE_CONTEXT_OFFSET(attr),
                                   MPIDI_BUFENLARGE_receive_vci(comm, attr, source, tag), flag, status);
}

#if MPIDI_BUFENLARGE_MPICH_SINCE(4, 1)
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_cancel_recv(MPIR_Request * rreq, bool is_blocking)
#else
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_cancel_recv(MPIR_Request * rreq)
#endif
{
#if MPIDI_BUFENLARGE_MPICH_SINCE(5, 0)
    return MPIDIG_mpi_cancel_recv(rreq, false);
#else
    return MPIDIG_mpi_cancel_recv(rreq);
#endif
}

#endif /* MPIDI_ENABLE_AM_ONLY */

#endif /* BUFENLARGE_MPICH_INLINE_H_INCLUDED */
