/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_pt2pt.h: sending for MPI. An eager message of contiguous data that the library takes at
 * once needs no request: MPI gets MPICH's ready-made complete one. The message has a short header, from
 * which the other side makes an ordinary MPIDIG_SEND. MPIDIG does all other sends, and all receives and
 * probes. MPICH calls these functions by those of bufenlarge_mpich_inline.h.
 */
#ifndef BUFENLARGE_PT2PT_H_INCLUDED
#define BUFENLARGE_PT2PT_H_INCLUDED

#include "bufenlarge_am_send.h"

/* Returns the VCI of a message on both sides: the one on which its receiver looks for it. With MPICH's implicit
 * method the sender's own choice may be another VCI, but then two VCIs would share a channel, which neither lock
 * guards. Shared memory uses the same VCI for receives, as it has to: a receive from any source is posted there and
 * here, under one lock. */
MPL_STATIC_INLINE_PREFIX int MPIDI_BUFENLARGE_send_vci(MPIR_Comm * comm, int attr, int rank, int tag)
{
    int vci;
    if (MPIDI_BUFENLARGE_stream_vci(comm, attr, comm->rank, rank, &vci))
        return vci;
    return MPIDI_get_vci(DST_VCI_FROM_SENDER, comm, comm->rank, rank, tag) % MPIDI_global.n_vcis;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_BUFENLARGE_receive_vci(MPIR_Comm * comm, int attr, int rank, int tag)
{
    int vci;
    if (MPIDI_BUFENLARGE_stream_vci(comm, attr, rank, comm->rank, &vci))
        return vci;
    return MPIDI_get_vci(DST_VCI_FROM_RECVER, comm, rank, comm->rank, tag) % MPIDI_global.n_vcis;
}

/* Leaves *request NULL, and sends nothing, when MPIDIG has to do it. */
MPL_STATIC_INLINE_PREFIX int MPIDI_BUFENLARGE_send_native(const void *buf, MPI_Aint count,
                                                          MPI_Datatype datatype, int rank, int tag,
                                                          MPIR_Comm * comm, int context_offset,
                                                          const MPIDI_av_entry_t * addr, int vci,
                                                          int error_bits, MPIR_Request ** request)
{
    int contig;
    MPI_Aint data_sz, true_lb;
    bufenlarge_channel_t *channel = MPIDI_BUFENLARGE_eager(addr, vci);
    const uint32_t context_id = (uint32_t) comm->context_id + (uint32_t) context_offset;

    MPIDI_Datatype_check_contig_size_lb(datatype, count, contig, data_sz, true_lb);
    if (unlikely(!channel || !contig || data_sz > MPIDI_BUFENLARGE_global.eager_max
                 || context_id > UINT16_MAX))
        return MPI_SUCCESS;
    if (unlikely(MPIDI_BUFENLARGE_on_device(buf)))
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
        .header = &header,.header_bytes = sizeof(header),.data_bytes = (size_t) data_sz,
        .handler_id = MPIDIG_SEND,
        .data = MPIR_get_contig_ptr(buf, true_lb),
        .vci = vci,
    };
    if (likely(MPIDI_BUFENLARGE_try_send(channel, &send, 0))) {
        *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__SEND);
        return MPI_SUCCESS;
    }
    if (send.status == BUFENLARGE_OK && send.sent == 0)
        return MPI_SUCCESS;
    return MPIDI_BUFENLARGE_send_begun(comm, rank, &send, request);
}

/* Sends; error_bits let the receiver know of an error within a collective operation. A synchronous send is MPIDIG's. */
MPL_STATIC_INLINE_PREFIX int MPIDI_BUFENLARGE_isend(const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank,
                                                    int tag, MPIR_Comm * comm, int context_offset,
                                                    MPIDI_av_entry_t * addr, int vci, MPIR_Request ** request,
                                                    bool is_synchronous, int error_bits)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_FUNC_ENTER;

    /* A request that exists already has to be completed; MPIDIG does that (work queue model). */
    if (*request == NULL && likely(!is_synchronous)) {
        MPID_THREAD_CS_ENTER(VCI, MPIDI_BUFENLARGE_LOCK(vci));
        mpi_errno = MPIDI_BUFENLARGE_send_native(buf, count, datatype, rank, tag, comm,
                                                 context_offset, addr, vci, error_bits, request);
        MPID_THREAD_CS_EXIT(VCI, MPIDI_BUFENLARGE_LOCK(vci));
        if (likely(*request != NULL || mpi_errno != MPI_SUCCESS))
            goto fn_exit;
    }
    if (unlikely(MPIDI_BUFENLARGE_failures > 0))
        mpi_errno = MPIDI_BUFENLARGE_send_error(addr, vci);
    if (likely(mpi_errno == MPI_SUCCESS))
        mpi_errno = MPIDI_BUFENLARGE_mpidig_isend(buf, count, datatype, rank, tag, comm, context_offset, addr, vci,
                                                  request, is_synchronous, error_bits);

  fn_exit:
    if (unlikely(mpi_errno != MPI_SUCCESS))
        mpi_errno = MPIDI_BUFENLARGE_send_failed(mpi_errno, comm, vci, request);
    MPIR_FUNC_EXIT;
    return mpi_errno;
}

/* A message that is on its way cannot be called back, so this succeeds without cancelling. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_cancel_send(MPIR_Request * sreq)
{
    return MPIDIG_mpi_cancel_send(sreq);
}

/* -- receiving, which is MPIDIG's -- */

MPL_STATIC_INLINE_PREFIX int MPIDI_BUFENLARGE_irecv(void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                                                    MPIR_Comm * comm, int context_offset, int vci,
                                                    MPIR_Request ** request, MPIR_Request * partner)
{
    MPIDI_BUFENLARGE_RECEIVE_ENTER(rank, vci);
    const int mpi_errno = MPIDIG_mpi_irecv(buf, count, datatype, rank, tag, comm, context_offset, vci, request, 0,
                                           partner);
    MPIDI_BUFENLARGE_RECEIVE_EXIT(rank, vci);
    return mpi_errno;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_imrecv(void *buf, MPI_Aint count, MPI_Datatype datatype,
                                                 MPIR_Request * message)
{
    const int vci ATTRIBUTE((unused)) = MPIDI_Request_get_vci(message);
    MPIDI_BUFENLARGE_MPIDIG_ENTER(vci);
    const int mpi_errno = MPIDIG_mpi_imrecv(buf, count, datatype, message);
    MPIDI_BUFENLARGE_MPIDIG_EXIT(vci);
    return mpi_errno;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_BUFENLARGE_improbe(int source, int tag, MPIR_Comm * comm, int context_offset,
                                                      int vci, int *flag, MPIR_Request ** message,
                                                      MPI_Status * status)
{
    MPIDI_BUFENLARGE_MPIDIG_ENTER(vci);
    const int mpi_errno =
        MPIDI_BUFENLARGE_mpidig_improbe(source, tag, comm, context_offset, vci, flag, message, status);
    MPIDI_BUFENLARGE_MPIDIG_EXIT(vci);
    return likely(MPIDI_BUFENLARGE_failures == 0 || *flag || mpi_errno != MPI_SUCCESS) ? mpi_errno
        : MPIDI_BUFENLARGE_probe_error(comm, source, vci);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_BUFENLARGE_iprobe(int source, int tag, MPIR_Comm * comm, int context_offset,
                                                     int vci, int *flag, MPI_Status * status)
{
    MPIDI_BUFENLARGE_MPIDIG_ENTER(vci);
    const int mpi_errno = MPIDI_BUFENLARGE_mpidig_iprobe(source, tag, comm, context_offset, vci, flag, status);
    MPIDI_BUFENLARGE_MPIDIG_EXIT(vci);
    return likely(MPIDI_BUFENLARGE_failures == 0 || *flag || mpi_errno != MPI_SUCCESS) ? mpi_errno
        : MPIDI_BUFENLARGE_probe_error(comm, source, vci);
}

#endif /* BUFENLARGE_PT2PT_H_INCLUDED */
