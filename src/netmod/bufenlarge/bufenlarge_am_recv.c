/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_am_recv.c: messages, incoming. The library delivers a message in fragments, in order. What is done with a
 * message of each kind stands in one table (bufenlarge_am_kinds.c).
 *
 * Most messages are one fragment: the handler gets pointers into the receive ring and copies straight to the user. For
 * the others there is one state per peer:
 *
 *   IDLE -> HEADER    first fragment; collects wire header and am_hdr, which may be split anywhere
 *   HEADER -> DATA    handler called with IS_ASYNC; fragments go to the user as they come (bufenlarge_am_data.c)
 *   HEADER -> STAGE   the message is kept until it is whole, then handled as if it had been one fragment
 *   any    -> IDLE    last fragment
 *
 * STAGE is for messages of kinds that do not stream, messages without data, and an MPIDIG_SEND that no receive waits
 * for. MPICH 4.0.2 has a state for the latter (MPIDIG_REQ_BUSY), but a receive posted while it lasts completes without
 * a status, and a request and a reference to the communicator leak. Staging costs one more copy of eager_max at most.
 */
#include "mpidimpl.h"
#include "bufenlarge_am_kinds.h"

typedef MPIDI_BUFENLARGE_am_kind_t am_kind_t;
typedef MPIDI_BUFENLARGE_peer_t peer_t;
typedef MPIDI_BUFENLARGE_vci_t vci_t;
typedef MPIDI_BUFENLARGE_wire_t wire_t;

typedef enum { IDLE, HEADER, DATA, STAGE } receive_mode_t;

typedef struct MPIDI_BUFENLARGE_receive {
    receive_mode_t mode;
    size_t header_have;
    MPIDI_BUFENLARGE_data_t data;       /* DATA */
    uint64_t left;              /* STAGE: of the data */
    char *buffer;               /* STAGE */
    size_t buffer_have;
    const am_kind_t *kind;      /* DATA and STAGE */
    MPIDI_BUFENLARGE_header_t header;
} receive_t;

/* All functions that return a text return what is wrong with the message, NULL when nothing is. */

/* -- the header of a message in fragments -- */

static bool is_awaited(const vci_t * vci, const MPIDIG_hdr_t * hdr)
{
    return MPIDI_BUFENLARGE_find_posted(vci->number, hdr->src_rank, hdr->tag, hdr->context_id) != NULL;
}

static const char *begin_stage(receive_t * receive, size_t bytes)
{
    receive->mode = STAGE;
    receive->left = bytes;
    receive->buffer_have = 0;
    receive->buffer = bytes > 0 ? MPL_malloc(bytes, MPL_MEM_BUFFER) : NULL;
    return bytes > 0 && receive->buffer == NULL ? MPIDI_BUFENLARGE_NO_MEMORY : NULL;
}

/* Calls the handler, which says where the data is to go. */
static const char *begin_data(vci_t * vci, receive_t * receive)
{
    MPIR_Request *rreq = NULL;
    MPIDI_BUFENLARGE_keep_error(vci, MPIDI_BUFENLARGE_call_handler(vci, &receive->header.wire,
                                                                   receive->header.am_hdr, NULL,
                                                                   MPIDIG_AM_ATTR__IS_ASYNC,
                                                                   &rreq));
    receive->mode = DATA;
    if (rreq != NULL)
        MPIDI_BUFENLARGE_hold(rreq);
    return MPIDI_BUFENLARGE_data_begin(&receive->data, rreq, receive->header.wire.data_bytes);
}

/* The header is whole: decides how the data is received. */
static const char *end_header(vci_t * vci, uint32_t peer, receive_t * receive)
{
    const wire_t *wire = &receive->header.wire;
    const am_kind_t *kind = receive->kind = MPIDI_BUFENLARGE_am_kind(wire);
    const char *text = kind ? MPIDI_BUFENLARGE_check_header(kind, peer, wire, receive->header.am_hdr)
        : MPIDI_BUFENLARGE_UNKNOWN_KIND;
    if (text != NULL)
        return text;
    const uint64_t data_bytes = MPIDI_BUFENLARGE_data_following(kind, wire);
    if (!kind->streams || data_bytes == 0
        || (wire->handler_id == MPIDIG_SEND && !is_awaited(vci, (const MPIDIG_hdr_t *) receive->header.am_hdr)))
        return begin_stage(receive, (size_t) data_bytes);
    return begin_data(vci, receive);
}

/* The header's first part is whole. An eager message is given the header of an active message. Sets *wanted_p to the
 * length of the whole header. */
static const char *end_wire(receive_t * receive, size_t * wanted_p)
{
    if (receive->header.wire.kind == MPIDI_BUFENLARGE_KIND_EAGER) {
        const char *text = MPIDI_BUFENLARGE_eager_expand(&receive->header, &receive->header_have);
        if (text != NULL)
            return text;
    }
    if (receive->header.wire.am_hdr_bytes > MPIDI_BUFENLARGE_AM_HDR_MAX)
        return "it sent a header that is too long";
    *wanted_p = sizeof(receive->header.wire) + receive->header.wire.am_hdr_bytes;
    return NULL;
}

/* Takes what belongs to the header off the front of a fragment. */
static const char *take_header(vci_t * vci, uint32_t peer, receive_t * receive,
                               const char **data_p, size_t * bytes_p)
{
    size_t wanted = sizeof(receive->header.wire);
    while (true) {
        if (receive->header_have >= sizeof(receive->header.wire)) {
            const char *text = end_wire(receive, &wanted);
            if (text != NULL)
                return text;
        }
        if (receive->header_have == wanted)
            return end_header(vci, peer, receive);
        const size_t part = MPL_MIN(wanted - receive->header_have, *bytes_p);
        if (part == 0)
            return NULL;
        memcpy((char *) &receive->header + receive->header_have, *data_p, part);
        receive->header_have += part;
        *data_p += part;
        *bytes_p -= part;
    }
}

/* -- its data -- */

static const char *take_data(receive_t * receive, const char *data, size_t bytes)
{
    const bool staged = receive->mode == STAGE;
    if (bytes > (staged ? receive->left : receive->data.left))
        return "a message is longer than its header says";
    if (staged && bytes > 0) {
        memcpy(receive->buffer + receive->buffer_have, data, bytes);
        receive->buffer_have += bytes;
        receive->left -= bytes;
    } else if (!staged) {
        MPIDI_BUFENLARGE_data_take(&receive->data, data, bytes);
    }
    return NULL;
}

static void complete_data(vci_t * vci, receive_t * receive)
{
    MPIR_Request *rreq = receive->data.rreq;
    MPIDI_BUFENLARGE_data_end(&receive->data);
    if (rreq == NULL)
        return;
    MPIDI_BUFENLARGE_let_go(rreq);
    MPIDI_BUFENLARGE_keep_error(vci, MPIDIG_REQUEST(rreq, req->target_cmpl_cb) (rreq));
}

/* The last fragment has been taken. */
static const char *end_message(vci_t * vci, uint32_t peer, receive_t * receive)
{
    const MPIDI_BUFENLARGE_header_t *header = &receive->header;
    const char *text = NULL;
    const bool staged = receive->mode == STAGE;

    if ((staged ? receive->left : receive->data.left) > 0)
        return "a message is shorter than its header says";
    receive->mode = IDLE;
    if (staged)
        text = receive->kind->whole(vci, peer, &header->wire, header->am_hdr, receive->buffer);
    else
        complete_data(vci, receive);
    MPL_free(receive->buffer);
    receive->buffer = NULL;
    return text;
}

/* -- fragments and whole messages -- */

static const char *take_fragment(vci_t * vci, uint32_t peer, receive_t * receive,
                                 const char *data, size_t bytes, unsigned marks)
{
    const char *text = NULL;
    if (((marks & BUFENLARGE_FIRST) != 0) != (receive->mode == IDLE))
        return "a fragment of a message is missing";
    if (receive->mode == IDLE) {
        receive->mode = HEADER;
        receive->header_have = 0;
    }
    if (receive->mode == HEADER)
        text = take_header(vci, peer, receive, &data, &bytes);
    if (text != NULL)
        return text;
    if (receive->mode == HEADER)
        return marks & BUFENLARGE_LAST ? "a message ended within its header" : NULL;
    text = take_data(receive, data, bytes);
    if (text != NULL || !(marks & BUFENLARGE_LAST))
        return text;
    return end_message(vci, peer, receive);
}

/* Not inline, as the next: an eager message would pay for their registers. */
static ATTRIBUTE((noinline)) void receive_fragment(vci_t * vci, uint32_t number, const void *data,
                                                   size_t bytes, unsigned marks)
{
    peer_t *peer = MPIDI_BUFENLARGE_peer_get(vci, number);
    if (peer == NULL) {
        MPIDI_BUFENLARGE_peer_lost(vci, number, BUFENLARGE_ERR_MEMORY, "out of memory");
        return;
    }
    if (peer->lost_text != NULL)
        return;
    if (peer->receive == NULL)
        peer->receive = MPL_calloc(1, sizeof(receive_t), MPL_MEM_BUFFER);
    const char *text = peer->receive ? take_fragment(vci, number, peer->receive, data, bytes, marks)
        : MPIDI_BUFENLARGE_NO_MEMORY;
    if (text != NULL)
        MPIDI_BUFENLARGE_peer_lost(vci, number, BUFENLARGE_ERR_PROTOCOL, text);
}

/* A message of one fragment, header first. */
static ATTRIBUTE((noinline)) const char *take_whole(vci_t * vci, uint32_t peer, const wire_t * wire, size_t bytes)
{
    const char *am_hdr = (const char *) (wire + 1);
    const size_t rest = bytes - sizeof(*wire);
    const am_kind_t *kind = MPIDI_BUFENLARGE_am_kind(wire);

    if (unlikely(kind == NULL))
        return MPIDI_BUFENLARGE_UNKNOWN_KIND;
    if (unlikely(wire->am_hdr_bytes > rest
                 || MPIDI_BUFENLARGE_data_following(kind, wire) != rest - wire->am_hdr_bytes))
        return MPIDI_BUFENLARGE_CONTRADICTION;
    const char *text = MPIDI_BUFENLARGE_check_header(kind, peer, wire, am_hdr);
    return unlikely(text != NULL) ? text : kind->whole(vci, peer, wire, am_hdr, am_hdr + wire->am_hdr_bytes);
}

static const char *take_eager(vci_t * vci, uint32_t peer, const MPIDI_BUFENLARGE_eager_t * eager, size_t bytes)
{
    if (unlikely(eager->data_bytes != bytes - sizeof(*eager)))
        return MPIDI_BUFENLARGE_CONTRADICTION;
    return MPIDI_BUFENLARGE_eager_deliver(vci, peer, eager, eager + 1);
}

/* The library's deliver callback. */
void MPIDI_BUFENLARGE_deliver(void *user, uint32_t peer, const void *data, size_t bytes,
                              unsigned marks)
{
    const wire_t *wire = data;

    if (unlikely(marks != (BUFENLARGE_FIRST | BUFENLARGE_LAST) || bytes < sizeof(*wire))) {
        receive_fragment(user, peer, data, bytes, marks);
        return;
    }
    const char *text = likely(wire->kind == MPIDI_BUFENLARGE_KIND_EAGER) ? take_eager(user, peer, data, bytes)
        : take_whole(user, peer, wire, bytes);
    if (unlikely(text != NULL))
        MPIDI_BUFENLARGE_peer_lost(user, peer, BUFENLARGE_ERR_PROTOCOL, text);
}

/* Gives up a message that a lost peer will not end. Only a receive of MPI is completed, with the error: what a
 * one-sided operation would do at its end cannot be done with half of its data. */
void MPIDI_BUFENLARGE_receive_fail(vci_t * vci, peer_t * peer)
{
    receive_t *receive = peer->receive;
    if (receive == NULL)
        return;
    const uint8_t handler_id = receive->header.wire.handler_id;
    const bool has_data = receive->mode == DATA;
    const bool is_receive = has_data && receive->data.rreq
        && (handler_id == MPIDIG_SEND || handler_id == MPIDIG_SEND_DATA);
    receive->mode = IDLE;
    MPL_free(receive->buffer);
    receive->buffer = NULL;
    if (is_receive) {
        receive->data.rreq->status.MPI_ERROR = MPIDI_BUFENLARGE_peer_error(peer);
        complete_data(vci, receive);
    } else if (has_data) {
        if (receive->data.rreq)
            MPIDI_BUFENLARGE_let_go(receive->data.rreq);
        MPL_free(receive->data.buffer);
    }
}
