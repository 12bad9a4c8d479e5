/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_pt2pt.h: sending for MPI. An eager message of contiguous data that the library takes at
 * once needs no request: MPI gets MPICH's ready-made complete one, and it travels with a short header,
 * from which MPIDIG on the other side is given an ordinary MPIDIG_SEND. All other sends, and all receives and probes, are MPIDIG's.
 */
#ifndef BUFENLARGE_PT2PT_H_INCLUDED
#define BUFENLARGE_PT2PT_H_INCLUDED

#include "bufenlarge_am_send.h"
#include "netmod_am_fallback_recv.h"
#include "netmod_am_fallback_probe.h"

/* Returns with *request NULL, and nothing sent, when MPIDIG has to do it. */
MPL_STATIC_INLINE_PREFIX int MPIDI_BUFENLARGE_send_native(const void *buf, MPI_Aint count,
                                                          MPI_Datatype datatype, int rank, int tag,
                                                          MPIR_Comm * comm, int context_offset,
                                                          const MPIDI_av_entry_t * addr,
                                                          int error_bits, MPIR_Request ** request)
{
    int contig;
    MPI_Aint data_sz, true_lb;
    MPL_pointer_attr_t attr;
    bufenlarge_channel_t *channel = MPIDI_BUFENLARGE_direct(addr);
    const uint32_t context_id = (uint32_t) comm->context_id + (uint32_t) context_offset;

    MPIDI_Datatype_check_contig_size_lb(datatype, count, contig, data_sz, true_lb);
    if (unlikely(!channel || !contig || data_sz > MPIDI_BUFENLARGE_global.eager_max
                 || context_id > UINT16_MAX))
        return MPI_SUCCESS;
    MPIR_GPU_query_pointer_attr(buf, &attr);
    if (unlikely(attr.type == MPL_GPU_POINTER_DEV))
        return MPI_SUCCESS;

    const MPIDI_BUFENLARGE_eager_t header = {
        .kind = MPIDI_BUFENLARGE_KIND_EAGER,
        .error_bits = (uint8_t) error_bits,
        .context_id = (uint16_t) context_id,
        .data_bytes = (uint32_t) data_sz,
        .src_rank = comm->rank,
        .tag = tag,
    };
    MPIDI_BUFENLARGE_send_t send = {
        .header = &header,
        .header_bytes = sizeof(header),
        .data_bytes = (size_t) data_sz,
        .handler_id = MPIDIG_SEND,
        .data = MPIR_get_contig_ptr(buf, true_lb),
    };
    if (likely(MPIDI_BUFENLARGE_try_send(channel, &send))) {
        *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__SEND);
        return MPI_SUCCESS;
    }
    if (send.status == BUFENLARGE_OK && send.sent == 0)
        return MPI_SUCCESS;
    return MPIDI_BUFENLARGE_send_begun(comm, rank, &send, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_isend(const void *buf, MPI_Aint count,
                                                MPI_Datatype datatype, int rank, int tag,
                                                MPIR_Comm * comm, int context_offset,
                                                MPIDI_av_entry_t * addr, MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_FUNC_ENTER;

    /* A request that exists already has to be completed, so it is MPIDIG's (work queue model). */
    if (*request == NULL) {
        MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
        mpi_errno = MPIDI_BUFENLARGE_send_native(buf, count, datatype, rank, tag, comm,
                                                 context_offset, addr, MPIR_ERR_NONE, request);
        MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
        if (likely(*request != NULL || mpi_errno != MPI_SUCCESS))
            goto fn_exit;
    }
    mpi_errno = MPIDIG_mpi_isend(buf, count, datatype, rank, tag, comm, context_offset, addr, 0, 0,
                                 request);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
}

/* As MPIDI_NM_mpi_isend; the receiver gets to know of an error within the collective. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_isend_coll(const void *buf, MPI_Aint count,
                                                 MPI_Datatype datatype, int rank, int tag,
                                                 MPIR_Comm * comm, int context_offset,
                                                 MPIDI_av_entry_t * addr, MPIR_Request ** request,
                                                 MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_FUNC_ENTER;

    if (*request == NULL) {
        MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
        mpi_errno = MPIDI_BUFENLARGE_send_native(buf, count, datatype, rank, tag, comm,
                                                 context_offset, addr, *errflag, request);
        MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
        if (likely(*request != NULL || mpi_errno != MPI_SUCCESS))
            goto fn_exit;
    }
    mpi_errno = MPIDIG_isend_coll(buf, count, datatype, rank, tag, comm, context_offset, addr, 0, 0,
                                  request, errflag);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_issend(const void *buf, MPI_Aint count,
                                                 MPI_Datatype datatype, int rank, int tag,
                                                 MPIR_Comm * comm, int context_offset,
                                                 MPIDI_av_entry_t * addr, MPIR_Request ** request)
{
    return MPIDIG_mpi_issend(buf, count, datatype, rank, tag, comm, context_offset, addr, 0, 0,
                             request);
}

/* A message that is on its way cannot be called back, so this succeeds without cancelling. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_cancel_send(MPIR_Request * sreq)
{
    return MPIDIG_mpi_cancel_send(sreq);
}

#endif /* BUFENLARGE_PT2PT_H_INCLUDED */
