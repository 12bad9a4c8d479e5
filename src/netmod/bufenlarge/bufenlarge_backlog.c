/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_backlog.c: messages that could not be sent at once. Each peer has a backlog. What the
 * library did not take goes to its end, and every later message to that peer behind it, so that all
 * stay in order. Only the first message of a backlog may be open in the library (taken in part).
 * Progress tries each backlog once per round. The netmod sets no limit to a backlog; MPI does, because
 * everything in it but headers of MPIDIG has a request that some call waits for. Small one-sided operations
 * have none, and are copies: those have a bound (bufenlarge_rma_impl.h).
 *
 * A message with eager data may have come here before the peer said that it takes none any more
 * (bufenlarge_unexpected.c). It asks first then, unless the library has taken a part of it. The message that
 * says so is the only one that overtakes others.
 */
#include "mpidimpl.h"
#include "bufenlarge_failure.h"
#include "bufenlarge_rma_impl.h"
#include "bufenlarge_unexpected.h"
#include "utlist.h"

/* Returns NULL when there is no memory. */
MPIDI_BUFENLARGE_deferred_t *MPIDI_BUFENLARGE_deferred_create(const MPIDI_BUFENLARGE_send_t * send)
{
    MPIDI_BUFENLARGE_deferred_t *deferred =
        MPL_malloc(sizeof(*deferred) + send->header_bytes, MPL_MEM_BUFFER);
    if (deferred == NULL)
        return NULL;
    memset(deferred, 0, sizeof(*deferred));
    deferred->sreq = send->sreq;
    if (send->sreq)
        MPIDI_BUFENLARGE_hold(send->sreq);
    deferred->handler_id = send->handler_id;
    deferred->data_bytes = send->data_bytes;
    deferred->chunk = send->data;
    deferred->chunk_bytes = deferred->data_bytes;
    deferred->pack_datatype = MPI_DATATYPE_NULL;
    deferred->header_bytes = send->header_bytes;
    deferred->header_sent = MPL_MIN(send->sent, send->header_bytes);
    deferred->data_sent = send->sent - deferred->header_sent;
    memcpy(deferred->header, send->header, send->header_bytes);
    return deferred;
}

/* Does the same with a copy of the data, which is contiguous or empty. */
MPIDI_BUFENLARGE_deferred_t *MPIDI_BUFENLARGE_deferred_copy(const MPIDI_BUFENLARGE_send_t * send)
{
    MPIDI_BUFENLARGE_deferred_t *deferred = MPIDI_BUFENLARGE_deferred_create(send);
    if (deferred == NULL || send->data_bytes == 0)
        return deferred;
    deferred->owned = MPL_malloc(send->data_bytes, MPL_MEM_BUFFER);
    if (deferred->owned == NULL) {
        if (deferred->sreq)
            MPIDI_BUFENLARGE_let_go(deferred->sreq);
        MPL_free(deferred);
        return NULL;
    }
    memcpy(deferred->owned, send->data, send->data_bytes);
    deferred->chunk = deferred->owned;
    return deferred;
}

static void datatype_release(MPIDI_BUFENLARGE_deferred_t * deferred)
{
    if (deferred->pack_datatype != MPI_DATATYPE_NULL) {
        MPIR_Datatype_release_if_not_builtin(deferred->pack_datatype);
        deferred->pack_datatype = MPI_DATATYPE_NULL;
    }
}

void MPIDI_BUFENLARGE_note_error(MPIR_Request * sreq, int handler_id, int error)
{
    if (error == MPI_SUCCESS)
        return;
    sreq->status.MPI_ERROR = error;
    if (handler_id == MPIDIG_PART_SEND_DATA)
        MPIDIG_REQUEST(sreq, req->part_am_req.part_req_ptr)->status.MPI_ERROR = error;
}

/* Ends a message that is sent, or given up with an error. The callback comes last, because it may free
 * the request. */
static int deferred_finish(MPIDI_BUFENLARGE_deferred_t * deferred, int error)
{
    MPIR_Request *sreq = deferred->sreq;
    const int handler_id = deferred->handler_id;
    datatype_release(deferred);
    MPL_free(deferred->owned);
    MPL_free(deferred);
    if (sreq == NULL)
        return MPI_SUCCESS;
    MPIDI_BUFENLARGE_let_go(sreq);
    MPIDI_BUFENLARGE_note_error(sreq, handler_id, error);
    return MPIDIG_global.origin_cbs[handler_id] (sreq);
}

/* Fills the pack buffer with the data that comes next. The data can end before the buffer does, because
 * MPICH packs an element of the datatype whole or not at all. A message gets the buffer when it is its turn. */
static bufenlarge_status_t pack_next(MPIDI_BUFENLARGE_deferred_t * deferred)
{
    MPI_Aint packed = 0;
    const size_t wanted = MPL_MIN(deferred->data_bytes - deferred->data_sent, MPIDI_BUFENLARGE_PACK_BYTES);

    if (deferred->owned == NULL)
        deferred->owned = MPL_malloc(wanted, MPL_MEM_BUFFER);
    if (deferred->owned == NULL)
        return BUFENLARGE_ERR_MEMORY;
    int mpi_errno = MPIDI_BUFENLARGE_pack(deferred->pack_buf, deferred->pack_count, deferred->pack_datatype,
                                          (MPI_Aint) deferred->data_sent, deferred->owned, (MPI_Aint) wanted, &packed);
    if (mpi_errno != MPI_SUCCESS || packed <= 0)
        return BUFENLARGE_ERR_ARGUMENT;
    deferred->chunk = deferred->owned;
    deferred->chunk_begin = deferred->data_sent;
    deferred->chunk_bytes = (size_t) packed;
    return BUFENLARGE_OK;
}

/* Offers the library the rest of the header and the rest of the chunk. */
static bufenlarge_status_t offer(bufenlarge_channel_t * channel,
                                 MPIDI_BUFENLARGE_deferred_t * deferred, size_t * taken_p,
                                 size_t * offered_p)
{
    struct iovec iov[2];
    int count = 0;
    const size_t header_left = deferred->header_bytes - deferred->header_sent;
    const size_t skip = deferred->data_sent - deferred->chunk_begin;
    const size_t chunk_left = deferred->chunk_bytes - skip;
    const size_t chunk_end = deferred->chunk_begin + deferred->chunk_bytes;

    if (header_left > 0) {
        iov[count].iov_base = deferred->header + deferred->header_sent;
        iov[count++].iov_len = header_left;
    }
    if (chunk_left > 0) {
        iov[count].iov_base = (void *) (deferred->chunk + skip);
        iov[count++].iov_len = chunk_left;
    }
    *taken_p = 0;
    *offered_p = header_left + chunk_left;
    bufenlarge_status_t status =
        bufenlarge_channel_send(channel, iov, count, BUFENLARGE_CORK |
                                (chunk_end < deferred->data_bytes ? BUFENLARGE_MORE : 0), taken_p);
    const size_t of_header = MPL_MIN(*taken_p, header_left);
    deferred->header_sent += of_header;
    deferred->data_sent += *taken_p - of_header;
    return status;
}

/* Sends what can go. Returns true when the library has taken the whole message. A message that cannot
 * be continued would stay open in the library for ever and block all others: the peer is lost then. */
static bool advance(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer,
                    MPIDI_BUFENLARGE_deferred_t * deferred, unsigned *moved_p)
{
    size_t taken, offered;
    bufenlarge_status_t status = BUFENLARGE_OK;
    do {
        if (deferred->data_sent == deferred->chunk_begin + deferred->chunk_bytes
            && deferred->data_sent < deferred->data_bytes)
            status = pack_next(deferred);
        if (status != BUFENLARGE_OK) {
            MPIDI_BUFENLARGE_peer_lost(vci, peer->number, status, status == BUFENLARGE_ERR_MEMORY ? "out of memory"
                                       : "a message's datatype could not be packed");
            return false;
        }
        status = offer(peer->channel, deferred, &taken, &offered);
        *moved_p += taken > 0;
        if (status != BUFENLARGE_OK) {
            MPIDI_BUFENLARGE_peer_lost(vci, peer->number, status,
                                       bufenlarge_channel_error(peer->channel));
            return false;
        }
    } while (taken == offered && deferred->data_sent < deferred->data_bytes);
    return taken == offered;
}

static void enqueue(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer,
                    MPIDI_BUFENLARGE_deferred_t * deferred)
{
    if (peer->backlog == NULL)
        DL_APPEND(vci->busy, peer);
    DL_APPEND(peer->backlog, deferred);
    MPIDI_BUFENLARGE_peer_paths(peer);
}

static void dequeue(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer,
                    MPIDI_BUFENLARGE_deferred_t * deferred)
{
    DL_DELETE(peer->backlog, deferred);
    if (deferred->copied > 0)
        MPIDI_BUFENLARGE_rma_went(vci, peer->rma, deferred->copied);
    if (peer->backlog == NULL) {
        DL_DELETE(vci->busy, peer);
        MPIDI_BUFENLARGE_peer_paths(peer);
    }
}

/* Notes in a send's request and header what MPIDIG does for a message that is too large to be eager. The request takes
 * over a reference to the datatype. */
void MPIDI_BUFENLARGE_ask(MPIR_Request * sreq, MPIDIG_hdr_t * hdr, const void *data, MPI_Aint count,
                          MPI_Datatype datatype)
{
    MPIDIG_REQUEST(sreq, buffer) = (void *) data;
    MPIDIG_REQUEST(sreq, count) = count;
    MPIDIG_REQUEST(sreq, datatype) = datatype;
    MPIDIG_REQUEST(sreq, req->status) |= MPIDIG_REQ_RTS;        /* a failure ends it, too */
#ifndef MPIDI_CH4_DIRECT_NETMOD
    MPIDI_REQUEST(sreq, is_local) = 0;  /* the answer asks for it; since 4.3 nobody else sets it */
#endif
    MPIDIG_AM_SEND_SET_RNDV(hdr->flags, MPIDIG_RNDV_GENERIC);
}

/* Whether the message is one with eager data, for a peer that takes none, and nothing of it has gone. One with the
 * short header of an eager message comes here only when some of it has. */
static bool has_to_ask(const MPIDI_BUFENLARGE_peer_t * peer, const MPIDI_BUFENLARGE_deferred_t * deferred)
{
    const MPIDI_BUFENLARGE_wire_t *wire = (const MPIDI_BUFENLARGE_wire_t *) deferred->header;
    return unlikely(peer->no_eager_to) && deferred->sreq != NULL && deferred->handler_id == MPIDIG_SEND
        && deferred->data_bytes > 0 && deferred->header_sent == 0 && wire->kind == MPIDI_BUFENLARGE_KIND_AM;
}

/* Leaves the header, which belongs to no request: the answer, or a failure, finds the one that waits. */
static void turn_into_asking(MPIDI_BUFENLARGE_deferred_t * deferred)
{
    MPIDI_BUFENLARGE_wire_t *wire = (MPIDI_BUFENLARGE_wire_t *) deferred->header;
    MPIDIG_hdr_t *hdr = (MPIDIG_hdr_t *) (wire + 1);
    MPIR_Request *sreq = deferred->sreq;

    if (deferred->pack_datatype == MPI_DATATYPE_NULL)
        MPIDI_BUFENLARGE_ask(sreq, hdr, deferred->chunk, (MPI_Aint) deferred->data_bytes, MPIDI_BUFENLARGE_BYTE);
    else
        MPIDI_BUFENLARGE_ask(sreq, hdr, deferred->pack_buf, deferred->pack_count, deferred->pack_datatype);
    MPIDI_BUFENLARGE_let_go(sreq);
    MPL_free(deferred->owned);
    deferred->sreq = NULL;
    deferred->pack_datatype = MPI_DATATYPE_NULL;
    deferred->owned = NULL;
    deferred->chunk = NULL;
    deferred->data_bytes = deferred->chunk_begin = deferred->chunk_bytes = 0;
    wire->data_bytes = 0;
}

/* Sends from the backlog while the library takes whole messages. Returns how often the library took
 * something. The backlog does not grow meanwhile: completing a request sends nothing. */
unsigned MPIDI_BUFENLARGE_backlog_flush(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer)
{
    unsigned moved = 0;
    while (peer->backlog && !peer->lost_text) {
        MPIDI_BUFENLARGE_deferred_t *first = peer->backlog;
        if (has_to_ask(peer, first))
            turn_into_asking(first);
        if (!advance(vci, peer, first, &moved))
            break;
        dequeue(vci, peer, first);
        MPIDI_BUFENLARGE_keep_error(vci, deferred_finish(first, MPI_SUCCESS));
    }
    /* Messages that the library took together share an RDMA write. */
    if (moved > 0)
        bufenlarge_channel_flush(peer->channel);
    return moved;
}

/* Gives up all messages to a lost peer. */
void MPIDI_BUFENLARGE_backlog_fail(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer)
{
    while (peer->backlog) {
        MPIDI_BUFENLARGE_deferred_t *first = peer->backlog;
        dequeue(vci, peer, first);
        deferred_finish(first, MPIDI_BUFENLARGE_peer_error(peer));
    }
}

/* Takes over a message, or the rest of one that the fast path began. */
void MPIDI_BUFENLARGE_backlog_append(MPIDI_BUFENLARGE_peer_t * peer,
                                   MPIDI_BUFENLARGE_deferred_t * deferred)
{
    MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_vci(peer->vci);
    const bool first = peer->backlog == NULL;
    enqueue(vci, peer, deferred);
    if (first)
        MPIDI_BUFENLARGE_backlog_flush(vci, peer);
}

/* The same with a message that says whether the peer may send eager data: the peer sends some until it has that, so it
 * does not wait behind all that this process sends. An earlier one that has not gone becomes this one. */
void MPIDI_BUFENLARGE_backlog_overtake(MPIDI_BUFENLARGE_peer_t * peer, MPIDI_BUFENLARGE_deferred_t * limit)
{
    MPIDI_BUFENLARGE_deferred_t *open = peer->backlog && peer->backlog->header_sent > 0 ? peer->backlog : NULL;
    MPIDI_BUFENLARGE_deferred_t *next = open ? open->next : peer->backlog;

    if (peer->backlog == NULL) {
        MPIDI_BUFENLARGE_backlog_append(peer, limit);
        return;
    }
    if (next && ((MPIDI_BUFENLARGE_wire_t *) next->header)->kind == MPIDI_BUFENLARGE_KIND_EAGER_LIMIT) {
        memcpy(next->header, limit->header, limit->header_bytes);
        deferred_finish(limit, MPI_SUCCESS);
        return;
    }
    if (open)
        DL_DELETE(peer->backlog, open);
    DL_PREPEND(peer->backlog, limit);
    if (open)
        DL_PREPEND(peer->backlog, open);
}
