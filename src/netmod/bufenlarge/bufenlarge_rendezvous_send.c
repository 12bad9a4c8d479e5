/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_rendezvous_send.c: messages whose data goes from user memory to user memory without a copy, outgoing. The
 * sender advertises the data as a source to the peer, sends the headers with the source handle, and completes the
 * request when the library says that the peer has released the source. The receiving side is in
 * bufenlarge_rendezvous_recv.c.
 *
 * Noncontiguous data goes as segments while they are few and long.
 */
#include "mpidimpl.h"
#include "bufenlarge_failure.h"
#include "bufenlarge_memory.h"

/* Each segment costs a registration on verbs, 16 bytes of a request, and an RDMA write. */
#define SEGMENTS_MAX 64
#define SEGMENT_BYTES_MIN 16384

/* A message whose data this process has advertised. */
typedef struct {
    MPIR_Request *sreq;         /* NULL: the message could not be sent, and another error ends its request */
    int handler_id;             /* whose origin callback completes sreq */
} outgoing_t;

bool MPIDI_BUFENLARGE_is_dense(MPI_Aint segments, size_t bytes)
{
    return segments <= SEGMENTS_MAX && bytes / (size_t) segments >= SEGMENT_BYTES_MIN;
}

bool MPIDI_BUFENLARGE_may_advertise(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                                    size_t data_bytes)
{
    int contig;

    if (MPIDI_BUFENLARGE_on_device(buf))
        return false;
    MPIDI_Datatype_check_contig(datatype, contig);
    if (contig)
        return true;
    return MPIDI_BUFENLARGE_is_dense(MPIDI_BUFENLARGE_segments(count, datatype, (MPI_Aint) data_bytes), data_bytes);
}

/* Returns how many segments there are; -1 when they are not all of the data. */
static int find_segments(const void *buf, MPI_Aint count, MPI_Datatype datatype, size_t data_bytes,
                         struct iovec *iov)
{
    int contig;
    size_t bytes ATTRIBUTE((unused));
    MPI_Aint true_lb, segments, got;

    MPIDI_Datatype_check_contig_size_lb(datatype, count, contig, bytes, true_lb);
    if (contig) {
        iov[0].iov_base = MPIR_get_contig_ptr(buf, true_lb);
        iov[0].iov_len = data_bytes;
        return 1;
    }
    MPIR_Typerep_to_iov(buf, count, datatype, 0, iov, SEGMENTS_MAX, (MPI_Aint) data_bytes,
                        &segments, &got);
    return (size_t) got == data_bytes ? (int) segments : -1;
}

static unsigned persistence(const void *buf, MPI_Datatype datatype, size_t data_bytes, int handler_id)
{
    int contig;
    MPIDI_Datatype_check_contig(datatype, contig);
    return MPIDI_BUFENLARGE_persistence(buf, contig, data_bytes, handler_id);
}

/* The request waits until the peer has read its data. */
static void outgoing_begin(outgoing_t * outgoing, MPIR_Request * sreq)
{
    outgoing->sreq = sreq;
    MPIDI_BUFENLARGE_hold(sreq);
}

/* Advertises the data and sends the rest of the message, whose header begins with `wire`. may_advertise() has returned
 * true. While the peer has other sources to read, the library may hold the message until the next round of progress,
 * to send it together with others: without that round the peer would get no response to its read requests either. */
int MPIDI_BUFENLARGE_send_rendezvous(MPIR_Comm * comm, int rank, MPIDI_BUFENLARGE_send_t * send,
                                     MPIDI_BUFENLARGE_wire_t * wire, const void *buf, MPI_Aint count,
                                     MPI_Datatype datatype)
{
    int mpi_errno = MPI_SUCCESS;
    struct iovec iov[SEGMENTS_MAX];
    MPIDI_BUFENLARGE_peer_t *peer;
    MPIR_FUNC_ENTER;

    mpi_errno = MPIDI_BUFENLARGE_reachable_peer(comm, rank, send, &peer);
    MPIR_ERR_CHECK(mpi_errno);
    const int segments = find_segments(buf, count, datatype, send->data_bytes, iov);
    MPIR_ERR_CHKANDJUMP(segments < 0, mpi_errno, MPI_ERR_INTERN, "**bufenlarge_pack");
    outgoing_t *outgoing = MPL_malloc(sizeof(*outgoing), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP(!outgoing, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    *outgoing = (outgoing_t) {.handler_id = wire->handler_id };
    const unsigned keep = persistence(buf, datatype, send->data_bytes, wire->handler_id);
    bufenlarge_status_t status =
        bufenlarge_channel_advertise(peer->channel, iov, segments, keep, outgoing, &wire->detail);
    if (status != BUFENLARGE_OK) {
        MPL_free(outgoing);
        mpi_errno = MPIDI_BUFENLARGE_error(status, bufenlarge_channel_error(peer->channel));
        goto fn_fail;
    }
    wire->kind = MPIDI_BUFENLARGE_KIND_RENDEZVOUS;
    send->data_bytes = 0;
    const unsigned flags = peer->sources++ > 0 ? BUFENLARGE_CORK : 0;
    MPIR_Request *sreq = send->sreq;
    send->sreq = NULL;
    if (!peer->direct || !MPIDI_BUFENLARGE_try_send(peer->direct, send, flags))
        mpi_errno = MPIDI_BUFENLARGE_send_rest(comm, rank, send);
    MPIR_ERR_CHECK(mpi_errno);
    outgoing_begin(outgoing, sreq);

  fn_exit:
    MPIR_FUNC_EXIT;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The library's source_released callback. */
void MPIDI_BUFENLARGE_source_released(void *user, uint32_t number, void *cookie,
                                      bufenlarge_status_t status)
{
    outgoing_t *outgoing = cookie;
    MPIR_Request *sreq = outgoing->sreq;
    MPIDI_BUFENLARGE_peer_t *peer = MPIDI_BUFENLARGE_peer_get(user, number);
    peer->sources--;
    const int error = status == BUFENLARGE_OK ? MPI_SUCCESS : MPIDI_BUFENLARGE_peer_error(peer);
    if (sreq != NULL) {
        MPIDI_BUFENLARGE_let_go(sreq);
        MPIDI_BUFENLARGE_note_error(sreq, outgoing->handler_id, error);
        MPIDI_BUFENLARGE_keep_error(user, MPIDIG_global.origin_cbs[outgoing->handler_id] (sreq));
    }
    MPL_free(outgoing);
}
