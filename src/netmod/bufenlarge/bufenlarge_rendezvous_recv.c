/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_rendezvous_recv.c: rendezvous messages, incoming. The handler is called as for any message whose data
 * follows. When the place of the data is known, at once or when a receive matches, the library reads the source into
 * it; then the request is completed. A receiver whose segments are many or short gets the data through the ring, in
 * fragments.
 */
#include "mpidimpl.h"
#include "bufenlarge_consensus.h"
#include "bufenlarge_memory.h"
#include "utlist.h"

/* A message whose data is at the peer. */
typedef struct MPIDI_BUFENLARGE_incoming {
    MPIDI_BUFENLARGE_read_t read;
    struct MPIDI_BUFENLARGE_incoming *next, *prev;      /* in vci->unmatched */
    MPIR_Request *rreq;
    MPIDI_BUFENLARGE_peer_t *peer;
    uint32_t source;
    uint64_t bytes;
    int handler_id;
    bool is_receive;            /* of MPI, not a part of one-sided communication */
    bool through_ring;
    bool given_back;            /* to the sender, unread */
    MPI_Aint placed;            /* bytes that the receive has room for; not when through_ring */
    MPIDI_BUFENLARGE_data_t data;       /* through_ring */
} incoming_t;

/* Ends a message: its data is in place, or will not come. What a one-sided operation would do at its end cannot be done
 * without its data. */
static void incoming_end(MPIDI_BUFENLARGE_vci_t * vci, incoming_t * incoming)
{
    MPIR_Request *rreq = incoming->rreq;

    MPIDI_BUFENLARGE_let_go(rreq);
    if (incoming->through_ring)
        MPIDI_BUFENLARGE_data_end(&incoming->data);
    else
        MPIR_STATUS_SET_COUNT(rreq->status, incoming->placed);
    if (incoming->peer->lost_text && !incoming->is_receive) {
        MPL_free(incoming);
        return;
    }
    MPL_free(incoming);
#ifndef MPIDI_CH4_DIRECT_NETMOD
    /* A receive from any source that shared memory looked at first may have marked it as local. */
    MPIDI_REQUEST(rreq, is_local) = 0;
#endif
    MPIDI_BUFENLARGE_keep_error(vci, MPIDIG_REQUEST(rreq, req->target_cmpl_cb) (rreq));
    MPID_Request_complete(rreq);
}

static void incoming_done(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_read_t * read,
                          bufenlarge_status_t status)
{
    incoming_t *incoming = (incoming_t *) read;
    if (status != BUFENLARGE_OK)
        incoming->rreq->status.MPI_ERROR = MPIDI_BUFENLARGE_peer_error(incoming->peer);
    incoming_end(vci, incoming);
}

/* Lets the library read into these segments, or, without segments, into the fragment callback. With zero bytes nobody
 * wants the data, and the source is released. */
static void incoming_read(MPIDI_BUFENLARGE_vci_t * vci, incoming_t * incoming,
                          const struct iovec *iov, int segments, uint64_t bytes, unsigned persistence)
{
    MPIDI_BUFENLARGE_peer_t *peer = incoming->peer;
    bufenlarge_status_t status = bytes == 0 ? bufenlarge_channel_release_source(peer->channel, incoming->source)
        : bufenlarge_channel_read(peer->channel, incoming->source, 0, iov, segments, bytes,
                                  BUFENLARGE_READ_LAST | persistence, incoming);
    if (status != BUFENLARGE_OK) {
        MPIDI_BUFENLARGE_peer_lost(vci, peer->number, status, bufenlarge_channel_error(peer->channel));
        incoming->rreq->status.MPI_ERROR = MPIDI_BUFENLARGE_peer_error(peer);
    }
    if (status != BUFENLARGE_OK || bytes == 0)
        incoming_end(vci, incoming);
}

/* Cuts the receive's segments after `bytes`, and returns how many get any of the data. When the message is shorter than
 * the receive, the entries behind are not valid. */
static int cut_segments(struct iovec *iov, MPI_Aint segments, uint64_t bytes, uint64_t * placed_p)
{
    int count = 0;
    *placed_p = 0;
    while (count < segments && *placed_p < bytes) {
        iov[count].iov_len = MPL_MIN(iov[count].iov_len, bytes - *placed_p);
        *placed_p += iov[count++].iov_len;
    }
    return count;
}

static void read_in_place(MPIDI_BUFENLARGE_vci_t * vci, incoming_t * incoming)
{
    MPIR_Request *rreq = incoming->rreq;
    /* It is set here already when the message is truncated, and lost when the type is noncontiguous. */
    const int error = rreq->status.MPI_ERROR;
    struct iovec one, *iov = &one;
    int contig, device;
    void *where;
    MPI_Aint segments;
    uint64_t placed;

    MPIDIG_get_recv_data(&contig, &device, &where, &segments, rreq);
    rreq->status.MPI_ERROR = error;
    if (contig) {
        one.iov_base = where;
        one.iov_len = (size_t) segments;
        segments = 1;
    } else {
        iov = where;
    }
    const int used = cut_segments(iov, segments, incoming->bytes, &placed);
    if (placed < incoming->bytes && error == MPI_SUCCESS)
        rreq->status.MPI_ERROR = MPIDIG_ERR_TRUNCATE(placed, incoming->bytes);
    incoming->placed = (MPI_Aint) placed;
    const unsigned persistence = MPIDIG_REQUEST(rreq, netmod_am.bufenlarge.persistent) ? BUFENLARGE_PERSISTENT
        : MPIDI_BUFENLARGE_persistence(MPIDIG_REQUEST(rreq, buffer), contig, incoming->bytes, incoming->handler_id);
    incoming_read(vci, incoming, iov, used, placed, persistence);
}

static const char *read_through_ring(MPIDI_BUFENLARGE_vci_t * vci, incoming_t * incoming)
{
    const char *text =
        MPIDI_BUFENLARGE_data_begin(&incoming->data, incoming->rreq, incoming->bytes);
    incoming->through_ring = true;
    if (text == NULL)
        incoming_read(vci, incoming, NULL, 0,
                      incoming->rreq->status.MPI_ERROR == MPI_SUCCESS ? incoming->bytes : 0, 0);
    return text;
}

/* Returns whether the receive takes any data. To be called before MPICH is asked for segments, because MPICH has none
 * for a noncontiguous type without data. */
static bool has_room(MPIR_Request * rreq)
{
    MPI_Aint room = 1;
    if (MPIDIG_REQUEST(rreq, req->recv_async).recv_type == MPIDIG_RECV_DATATYPE)
        MPIDI_Datatype_check_size(MPIDIG_REQUEST(rreq, datatype), MPIDIG_REQUEST(rreq, count),
                                  room);
    return room > 0;
}

/* Starts to read: the place of the data is known. Returns what is wrong with the message. */
static const char *start(MPIDI_BUFENLARGE_vci_t * vci, incoming_t * incoming)
{
    MPIR_Request *rreq = incoming->rreq;
    const bool device = MPIDIG_REQUEST(rreq, req->recv_async).is_device_buffer;

    if ((uint64_t) MPIDIG_recv_in_data_sz(rreq) != incoming->bytes)
        return MPIDI_BUFENLARGE_CONTRADICTION;
    if (incoming->given_back) {
        rreq->status.MPI_ERROR = MPIDI_BUFENLARGE_revoked_error();
        incoming_end(vci, incoming);
        return NULL;
    }
    if (!has_room(rreq)) {
        incoming_read(vci, incoming, NULL, 0, 0, 0);
        return NULL;
    }
    const MPI_Aint segments = MPIDIG_get_recv_iov_count(rreq);
    if (device || (segments > 1 && !MPIDI_BUFENLARGE_is_dense(segments, (size_t) incoming->bytes)))
        return read_through_ring(vci, incoming);
    read_in_place(vci, incoming);
    return NULL;
}

/* Called for the headers, which have been checked. Returns what is wrong with the message. */
const char *MPIDI_BUFENLARGE_rendezvous_arrived(MPIDI_BUFENLARGE_vci_t * vci, uint32_t number,
                                                const MPIDI_BUFENLARGE_wire_t * wire,
                                                const void *am_hdr, const void *data)
{
    MPIDI_BUFENLARGE_peer_t *peer = MPIDI_BUFENLARGE_peer_get(vci, number);
    incoming_t *incoming = MPL_calloc(1, sizeof(*incoming), MPL_MEM_BUFFER);

    if (peer == NULL || incoming == NULL) {
        MPL_free(incoming);
        return MPIDI_BUFENLARGE_NO_MEMORY;
    }
    incoming->read.done = incoming_done;
    incoming->peer = peer;
    incoming->source = wire->detail;
    incoming->bytes = wire->data_bytes;
    incoming->handler_id = wire->handler_id;
    incoming->is_receive = wire->handler_id == MPIDIG_SEND || wire->handler_id == MPIDIG_SEND_DATA;
    const uint32_t attr = MPIDIG_AM_ATTR__IS_ASYNC | MPIDIG_AM_ATTR__IS_RNDV;
    MPIDI_BUFENLARGE_keep_error(vci, MPIDI_BUFENLARGE_call_handler(vci, wire, am_hdr, NULL, attr,
                                                                   &incoming->rreq));
    if (incoming->rreq == NULL) {       /* nobody wants the data */
        bufenlarge_channel_release_source(peer->channel, wire->detail);
        MPL_free(incoming);
        return NULL;
    }
    MPIR_cc_inc(incoming->rreq->cc_ptr);
    MPIDI_BUFENLARGE_hold(incoming->rreq);
    MPIDIG_REQUEST(incoming->rreq, netmod_am.bufenlarge.incoming) = incoming;
    if (MPIDIG_recv_initialized(incoming->rreq))
        return start(vci, incoming);
    DL_APPEND(vci->unmatched, incoming);
    return NULL;
}

/* Called when a receive matches a message that was unexpected. */
int MPIDI_BUFENLARGE_rendezvous_matched(MPIR_Request * rreq)
{
    incoming_t *incoming = MPIDIG_REQUEST(rreq, netmod_am.bufenlarge.incoming);
    MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_vci(incoming->peer->vci);
    const uint32_t number = incoming->peer->number;
    DL_DELETE(vci->unmatched, incoming);
    const char *text = start(vci, incoming);
    if (text != NULL)
        MPIDI_BUFENLARGE_peer_lost(vci, number, BUFENLARGE_ERR_PROTOCOL, text);
    return MPI_SUCCESS;
}

bool MPIDI_BUFENLARGE_has_unmatched(const MPIDI_BUFENLARGE_vci_t * vci, const MPIDI_BUFENLARGE_peer_t * peer)
{
    const incoming_t *incoming;
    DL_SEARCH_SCALAR(vci->unmatched, incoming, peer, peer);
    return incoming != NULL;
}

static bool is_to_be_given_back(const incoming_t * incoming)
{
    return !incoming->given_back && !incoming->peer->lost_text
        && !MPIDI_BUFENLARGE_is_repair_tag(MPIDI_BUFENLARGE_TAG(incoming->rreq))
        && MPIDI_BUFENLARGE_is_revoked(MPIDIG_REQUEST(incoming->rreq, u.recv.context_id));
}

void MPIDI_BUFENLARGE_give_back(const MPIDI_BUFENLARGE_vci_t * vci)
{
    incoming_t *incoming;
    DL_FOREACH(vci->unmatched, incoming) {
        if (is_to_be_given_back(incoming)) {
            incoming->given_back = true;
            bufenlarge_channel_release_source(incoming->peer->channel, incoming->source);
        }
    }
}

/* The library's fragment callback. */
void MPIDI_BUFENLARGE_fragment(void *user, uint32_t peer, void *cookie, const void *data, size_t bytes)
{
    incoming_t *incoming = cookie;
    MPIDI_BUFENLARGE_data_take(&incoming->data, data, bytes);
}

/* The library's read_done callback. */
void MPIDI_BUFENLARGE_read_done(void *user, uint32_t peer, void *cookie, bufenlarge_status_t status)
{
    MPIDI_BUFENLARGE_read_t *read = cookie;
    read->done(user, read, status);
}
