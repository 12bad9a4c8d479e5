/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_am_send.h: active messages, outgoing. The fast path is here and inline: the data is
 * contiguous, the peer has no backlog, and the library takes the message whole. Everything else is in
 * bufenlarge_am_send.c.
 *
 * MPIDIG relies on this: messages to one peer arrive in the order of these calls, am_send_hdr and
 * am_isend alike; no call waits or makes progress (handlers call them from within progress);
 * am_hdr belongs to the caller again on return; the origin callback is called once, when the data
 * is the user's again, and the request may be gone after it.
 *
 * Both VCIs that MPIDIG names are the same one, the receiver's: all own sends and receives are posted on it
 * (bufenlarge_pt2pt.h), MPIDIG replies on the VCIs of the request, and a window has one VCI.
 */
#ifndef BUFENLARGE_AM_SEND_H_INCLUDED
#define BUFENLARGE_AM_SEND_H_INCLUDED

#include "bufenlarge_unexpected.h"

/* Returns the channel a message may be handed to at once; NULL when it has to take the slow path. */
MPL_STATIC_INLINE_PREFIX bufenlarge_channel_t *MPIDI_BUFENLARGE_direct(const MPIDI_av_entry_t * av, int vci)
{
    const MPIDI_BUFENLARGE_peer_t *peer =
        MPIDI_BUFENLARGE_peer_known(MPIDI_BUFENLARGE_vci(vci), av->netmod.bufenlarge.number);
    return likely(peer != NULL) ? peer->direct : NULL;
}

/* The same for a message with eager data. */
MPL_STATIC_INLINE_PREFIX bufenlarge_channel_t *MPIDI_BUFENLARGE_eager(const MPIDI_av_entry_t * av, int vci)
{
    const MPIDI_BUFENLARGE_peer_t *peer =
        MPIDI_BUFENLARGE_peer_known(MPIDI_BUFENLARGE_vci(vci), av->netmod.bufenlarge.number);
    return likely(peer != NULL) ? peer->eager : NULL;
}

/* Hands header and data to the library, with the library's flags. Returns true when it took both whole; sets send->sent
 * and send->status in any case. */
MPL_STATIC_INLINE_PREFIX bool MPIDI_BUFENLARGE_try_send(bufenlarge_channel_t * channel,
                                                        MPIDI_BUFENLARGE_send_t * send,
                                                        unsigned flags)
{
    struct iovec iov[2];
    iov[0].iov_base = (void *) send->header;
    iov[0].iov_len = send->header_bytes;
    iov[1].iov_base = (void *) send->data;
    iov[1].iov_len = send->data_bytes;
    send->status = bufenlarge_channel_send(channel, iov, send->data_bytes ? 2 : 1, flags, &send->sent);
    return send->status == BUFENLARGE_OK && send->sent == send->header_bytes + send->data_bytes;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_send_hdr(int rank, MPIR_Comm * comm, int handler_id,
                                                  const void *am_hdr, MPI_Aint am_hdr_sz,
                                                  int src_vci, int dst_vci)
{
    MPIDI_BUFENLARGE_header_t header;
    MPIDI_BUFENLARGE_send_t send = {.header = &header,.handler_id = handler_id,.vci = dst_vci };
    int mpi_errno = MPI_SUCCESS;
    MPIR_FUNC_ENTER;

    send.header_bytes = MPIDI_BUFENLARGE_header_fill(&header, handler_id, am_hdr, am_hdr_sz, 0);
    bufenlarge_channel_t *channel =
        MPIDI_BUFENLARGE_direct(MPIDIU_comm_rank_to_av(comm, rank), dst_vci);
    if (unlikely(!channel || !MPIDI_BUFENLARGE_try_send(channel, &send, 0)))
        mpi_errno = MPIDI_BUFENLARGE_send_rest(comm, rank, &send);

    MPIR_FUNC_EXIT;
    return mpi_errno;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_BUFENLARGE_am_isend(int rank, MPIR_Comm * comm, int handler_id,
                                                       const void *am_hdr, MPI_Aint am_hdr_sz,
                                                       const void *data, MPI_Aint count,
                                                       MPI_Datatype datatype, int dst_vci,
                                                       MPIR_Request * sreq)
{
    MPIDI_BUFENLARGE_header_t header;
    MPIDI_BUFENLARGE_send_t send = {.header = &header,.handler_id = handler_id,.data = data,.sreq = sreq,
        .vci = dst_vci
    };
    int mpi_errno = MPI_SUCCESS, contig;
    size_t data_bytes;
    MPI_Aint true_lb;
    MPIR_FUNC_ENTER;

    /* Handles MPI_DATATYPE_NULL, which MPIDIG passes with messages that have no data. */
    MPIDI_Datatype_check_contig_size_lb(datatype, count, contig, data_bytes, true_lb);
    send.header_bytes = MPIDI_BUFENLARGE_header_fill(&header, handler_id, am_hdr, am_hdr_sz, data_bytes);
    send.data_bytes = data_bytes;
    if ((MPI_Aint) data_bytes >= MPIDI_BUFENLARGE_global.rendezvous_min
        && MPIDI_BUFENLARGE_may_advertise(data, count, datatype, data_bytes)) {
        mpi_errno = MPIDI_BUFENLARGE_send_rendezvous(comm, rank, &send, &header.wire, data, count, datatype);
        goto fn_exit;
    }
    if (unlikely((!contig || MPIDI_BUFENLARGE_on_device(data)) && data_bytes > 0)) {
        mpi_errno = MPIDI_BUFENLARGE_send_packed(comm, rank, &send, count, datatype);
        goto fn_exit;
    }

    send.data = MPIR_get_contig_ptr(data, true_lb);
    bufenlarge_channel_t *channel = MPIDI_BUFENLARGE_direct(MPIDIU_comm_rank_to_av(comm, rank), dst_vci);
    if (likely(channel && MPIDI_BUFENLARGE_try_send(channel, &send, 0)))
        mpi_errno = MPIDIG_global.origin_cbs[handler_id] (sreq);
    else
        mpi_errno = MPIDI_BUFENLARGE_send_rest(comm, rank, &send);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_isend(int rank, MPIR_Comm * comm, int handler_id,
                                               const void *am_hdr, MPI_Aint am_hdr_sz,
                                               const void *data, MPI_Aint count,
                                               MPI_Datatype datatype, int src_vci, int dst_vci,
                                               MPIR_Request * sreq)
{
    if (unlikely(MPIDI_BUFENLARGE_asks_first(comm, rank, handler_id, count, datatype, dst_vci)))
        return MPIDI_BUFENLARGE_send_asking(comm, rank, am_hdr, data, count, datatype, dst_vci, sreq);
    return MPIDI_BUFENLARGE_am_isend(rank, comm, handler_id, am_hdr, am_hdr_sz, data, count, datatype, dst_vci,
                                     sreq);
}

/* Handlers send replies. They need not differ from other messages, because no send of this netmod makes
 * progress. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_send_hdr_reply(MPIR_Comm * comm, int src_rank,
                                                        int handler_id, const void *am_hdr,
                                                        MPI_Aint am_hdr_sz, int src_vci,
                                                        int dst_vci)
{
    return MPIDI_NM_am_send_hdr(src_rank, comm, handler_id, am_hdr, am_hdr_sz, src_vci, dst_vci);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_isend_reply(MPIR_Comm * comm, int src_rank,
                                                     int handler_id, const void *am_hdr,
                                                     MPI_Aint am_hdr_sz, const void *data,
                                                     MPI_Aint count, MPI_Datatype datatype,
                                                     int src_vci, int dst_vci, MPIR_Request * sreq)
{
    return MPIDI_NM_am_isend(src_rank, comm, handler_id, am_hdr, am_hdr_sz, data, count, datatype,
                             src_vci, dst_vci, sreq);
}

MPL_STATIC_INLINE_PREFIX MPI_Aint MPIDI_NM_am_hdr_max_sz(void)
{
    return MPIDI_BUFENLARGE_AM_HDR_MAX;
}

MPL_STATIC_INLINE_PREFIX MPI_Aint MPIDI_NM_am_eager_limit(void)
{
    return MPIDI_BUFENLARGE_global.eager_max;
}

/* MPIDIG copies the data of an unexpected eager message into one of its own buffers. */
MPL_STATIC_INLINE_PREFIX MPI_Aint MPIDI_NM_am_eager_buf_limit(void)
{
    return MPIDI_BUFENLARGE_global.eager_max;
}

MPL_STATIC_INLINE_PREFIX bool MPIDI_NM_am_check_eager(MPI_Aint am_hdr_sz, MPI_Aint data_sz,
                                                      const void *data, MPI_Aint count,
                                                      MPI_Datatype datatype, MPIR_Request * sreq)
{
    return data_sz <= MPIDI_BUFENLARGE_global.eager_max
        || (data_sz >= MPIDI_BUFENLARGE_global.rendezvous_min
            && MPIDI_BUFENLARGE_may_advertise(data, count, datatype, (size_t) data_sz));
}

/* Returns the function to call when a receive matches a rendezvous message that was unexpected. */
MPL_STATIC_INLINE_PREFIX MPIDIG_recv_data_copy_cb MPIDI_NM_am_get_data_copy_cb(uint32_t attr)
{
    return MPIDI_BUFENLARGE_rendezvous_matched;
}

MPL_STATIC_INLINE_PREFIX void MPIDI_NM_am_request_init(MPIR_Request * req)
{
    MPIDIG_REQUEST(req, netmod_am.bufenlarge.sender) = 0;
    MPIDIG_REQUEST(req, netmod_am.bufenlarge.held) = 0;
    MPIDIG_REQUEST(req, netmod_am.bufenlarge.persistent) = false;
}

/* MPICH calls it when a request is complete, with the lock of its VCI. */
MPL_STATIC_INLINE_PREFIX void MPIDI_NM_am_request_finalize(MPIR_Request * req)
{
    if (unlikely(MPIDIG_REQUEST(req, netmod_am.bufenlarge.sender) != 0))
        MPIDI_BUFENLARGE_unexpected_end(req);
}

#endif /* BUFENLARGE_AM_SEND_H_INCLUDED */
