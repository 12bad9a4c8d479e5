/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_am_recv.c: messages, incoming. The library delivers a message in pieces, in order.
 *
 * Most messages are one piece: the handler gets pointers into the receive ring and copies straight to
 * the user. For the others there is one state per peer:
 *
 *   IDLE -> HEADER    first piece; collects wire header and am_hdr, which may be split anywhere
 *   HEADER -> COPY    handler called with IS_ASYNC; pieces go to the user's buffer as they come
 *   HEADER -> UNPACK  the same, noncontiguous: through a buffer, since MPICH unpacks whole elements
 *                     of a datatype only, and a piece ends anywhere
 *   HEADER -> STAGE   kept until it is whole, then handled as if it had been one piece
 *   HEADER -> DISCARD the handler wants no data
 *   any    -> IDLE    last piece
 *
 * STAGE is for messages without data, for reports, and for an MPIDIG_SEND that no receive waits for.
 * MPICH 4.0.2 has a state for the latter, too (MPIDIG_REQ_BUSY), but a receive that is posted while it
 * lasts completes without a status, and one request and one reference to the communicator are leaked
 * each time. Staging keeps out of that state, for one more copy of at most eager_max bytes.
 */
#include "mpidimpl.h"
#include "bufenlarge_impl.h"

/* More than the report of a process with a million channels. */
#define REPORT_BYTES_MAX ((uint64_t) 1 << 30)

typedef enum { IDLE, HEADER, COPY, UNPACK, STAGE, DISCARD } receive_mode_t;

typedef struct MPIDI_BUFENLARGE_receive {
    receive_mode_t mode;
    size_t header_have;
    uint64_t data_left;
    MPIR_Request *rreq;         /* COPY and UNPACK */
    char *buffer;               /* STAGE and UNPACK */
    size_t buffer_have;
    size_t buffer_bytes;
    MPIDI_BUFENLARGE_header_t header;
} receive_t;

static bool send_is_valid(const MPIDI_BUFENLARGE_wire_t * wire, const MPIDIG_hdr_t * hdr)
{
    if (wire->am_hdr_bytes < sizeof(*hdr) || hdr->data_sz < 0)
        return false;
    if (hdr->flags & MPIDIG_AM_SEND_FLAGS_RTS)
        return wire->data_bytes == 0 && hdr->rndv_hdr_sz == 0
            && MPIDIG_AM_SEND_GET_RNDV_ID(hdr->flags) == MPIDIG_RNDV_GENERIC;
    return wire->data_bytes == (uint64_t) hdr->data_sz
        && hdr->data_sz <= MPIR_CVAR_CH4_AM_PACK_BUFFER_SIZE;
}

/* What is wrong with an active message; NULL: nothing. */
static const char *refusal(const MPIDI_BUFENLARGE_wire_t * wire, const void *am_hdr)
{
    if (unlikely(wire->kind != MPIDI_BUFENLARGE_KIND_AM || wire->reserved != 0))
        return "it sent a message of unknown kind";
    if (unlikely(wire->handler_id >= MPIDI_AM_HANDLERS_MAX ||
                 MPIDIG_global.target_msg_cbs[wire->handler_id] == NULL))
        return "it sent an active message that has no handler";
    if (wire->handler_id == MPIDIG_SEND && unlikely(!send_is_valid(wire, am_hdr)))
        return "it sent a message whose sizes contradict each other";
    return NULL;
}

/* Handles a message that is here as a whole. Returns what is wrong with it. */
static const char *dispatch(MPIDI_BUFENLARGE_vci_t * vci, const MPIDI_BUFENLARGE_wire_t * wire,
                            const void *am_hdr, const void *data)
{
    const char *text = refusal(wire, am_hdr);
    if (unlikely(text != NULL))
        return text;
    uint32_t attr = 0;
    MPIDIG_AM_ATTR_SET_VCIS(attr, 0, 0);
    int mpi_errno =
        MPIDIG_global.target_msg_cbs[wire->handler_id] ((void *) am_hdr, (void *) data,
                                                        (MPI_Aint) wire->data_bytes, attr, NULL);
    if (unlikely(mpi_errno != MPI_SUCCESS))
        MPIDI_BUFENLARGE_keep_error(vci, mpi_errno);
    return NULL;
}

static bool is_awaited(const MPIDIG_hdr_t * hdr)
{
    return MPIDIG_rreq_find(hdr->src_rank, hdr->tag, hdr->context_id,
                            &MPIDI_global.per_vci[0].posted_list, MPIDIG_PT2PT_POSTED) != NULL;
}

static const char *begin_buffer(receive_t * receive, receive_mode_t mode, size_t bytes)
{
    receive->mode = mode;
    receive->buffer_have = 0;
    receive->buffer_bytes = bytes;
    receive->buffer = bytes > 0 ? MPL_malloc(bytes, MPL_MEM_BUFFER) : NULL;
    return bytes > 0 && receive->buffer == NULL ? "no memory for a message it sent" : NULL;
}

/* Calls the handler, which says where the data is to go. */
static const char *begin_async(MPIDI_BUFENLARGE_vci_t * vci, receive_t * receive)
{
    const MPIDI_BUFENLARGE_wire_t *wire = &receive->header.wire;
    MPIR_Request *rreq = NULL;
    uint32_t attr = MPIDIG_AM_ATTR__IS_ASYNC;
    int contig;

    MPIDIG_AM_ATTR_SET_VCIS(attr, 0, 0);
    int mpi_errno =
        MPIDIG_global.target_msg_cbs[wire->handler_id] (receive->header.am_hdr, NULL,
                                                        (MPI_Aint) wire->data_bytes, attr, &rreq);
    MPIDI_BUFENLARGE_keep_error(vci, mpi_errno);
    receive->rreq = rreq;
    receive->mode = rreq ? COPY : DISCARD;
    if (rreq == NULL)
        return NULL;
    if ((uint64_t) MPIDIG_recv_in_data_sz(rreq) < wire->data_bytes)
        return "it sent more data than the receiver was told of";
    MPIDIG_recv_setup(rreq);
    /* The request's datatype is valid for this type of receive only. */
    if (MPIDIG_REQUEST(rreq, req->recv_async).recv_type != MPIDIG_RECV_DATATYPE
        || rreq->status.MPI_ERROR != MPI_SUCCESS)
        return NULL;
    MPIDI_Datatype_check_contig(MPIDIG_REQUEST(rreq, datatype), contig);
    return contig ? NULL :
        begin_buffer(receive, UNPACK,
                     MPL_MIN((size_t) wire->data_bytes, MPIDI_BUFENLARGE_PACK_BYTES));
}

/* The header is whole: decides how the data is received. */
static const char *begin_data(MPIDI_BUFENLARGE_vci_t * vci, receive_t * receive)
{
    const MPIDI_BUFENLARGE_header_t *header = &receive->header;
    const size_t data_bytes = (size_t) header->wire.data_bytes;

    receive->data_left = data_bytes;
    if (header->wire.kind == MPIDI_BUFENLARGE_KIND_SUMMARY) {
        if (MPIR_Process.rank != 0 || data_bytes > REPORT_BYTES_MAX)
            return "it sent a report that nobody collects";
        return begin_buffer(receive, STAGE, data_bytes);
    }
    const char *text = refusal(&header->wire, header->am_hdr);
    if (text != NULL)
        return text;
    if (data_bytes == 0 || (header->wire.handler_id == MPIDIG_SEND
                            && !is_awaited((const MPIDIG_hdr_t *) header->am_hdr)))
        return begin_buffer(receive, STAGE, data_bytes);
    return begin_async(vci, receive);
}

/* Takes what belongs to the header off the front of a piece. */
static const char *take_header(MPIDI_BUFENLARGE_vci_t * vci, receive_t * receive,
                               const char **data_p, size_t * bytes_p)
{
    size_t wanted = sizeof(receive->header.wire);
    while (true) {
        if (receive->header_have >= sizeof(receive->header.wire)) {
            if (receive->header.wire.am_hdr_bytes > MPIDI_BUFENLARGE_AM_HDR_MAX)
                return "it sent a header that is too long";
            wanted = sizeof(receive->header.wire) + receive->header.wire.am_hdr_bytes;
        }
        if (receive->header_have == wanted)
            return begin_data(vci, receive);
        const size_t part = MPL_MIN(wanted - receive->header_have, *bytes_p);
        if (part == 0)
            return NULL;
        memcpy((char *) &receive->header + receive->header_have, *data_p, part);
        receive->header_have += part;
        *data_p += part;
        *bytes_p -= part;
        if (receive->header_have == sizeof(receive->header.wire)
            && receive->header.wire.kind == MPIDI_BUFENLARGE_KIND_EAGER) {
            const char *text = MPIDI_BUFENLARGE_eager_expand(&receive->header, &receive->header_have);
            if (text != NULL)
                return text;
        }
    }
}

/* Unpacks what the buffer has, and keeps the part of an element that may be left. */
static void unpack_buffer(receive_t * receive)
{
    MPIR_Request *rreq = receive->rreq;
    MPIDIG_rreq_async_t *async = &MPIDIG_REQUEST(rreq, req->recv_async);
    MPI_Aint unpacked = 0;

    int mpi_errno = MPIR_Typerep_unpack(receive->buffer, (MPI_Aint) receive->buffer_have,
                                        MPIDIG_REQUEST(rreq, buffer), MPIDIG_REQUEST(rreq, count),
                                        MPIDIG_REQUEST(rreq, datatype), async->offset, &unpacked);
    /* Nothing fits any more, or it ends within an element: the types of the two sides differ. */
    bool stuck = unpacked == 0 || (receive->data_left == 0
                                   && (size_t) unpacked < receive->buffer_have);
    if (receive->buffer_have > 0 && (mpi_errno != MPI_SUCCESS || stuck)
        && rreq->status.MPI_ERROR == MPI_SUCCESS)
        MPIR_ERR_SET(rreq->status.MPI_ERROR, MPI_ERR_TYPE, "**dtypemismatch");
    async->offset += unpacked;
    receive->buffer_have -= (size_t) unpacked;
    memmove(receive->buffer, receive->buffer + unpacked, receive->buffer_have);
    if (rreq->status.MPI_ERROR != MPI_SUCCESS)
        receive->buffer_have = 0;
}

static void take_data(receive_t * receive, const char *data, size_t bytes)
{
    receive->data_left -= bytes;
    if (receive->mode == COPY && bytes > 0)
        MPIDIG_recv_copy_seg((void *) data, (MPI_Aint) bytes, receive->rreq);
    if (receive->mode != STAGE && receive->mode != UNPACK)
        return;
    while (bytes > 0) {
        const size_t part = MPL_MIN(bytes, receive->buffer_bytes - receive->buffer_have);
        memcpy(receive->buffer + receive->buffer_have, data, part);
        receive->buffer_have += part;
        data += part;
        bytes -= part;
        if (receive->mode == UNPACK && receive->buffer_have == receive->buffer_bytes && bytes > 0)
            unpack_buffer(receive);
    }
}

/* All data has been copied. With an error MPIDIG_recv_copy_seg copies nothing and sets no count. */
static void end_request(MPIDI_BUFENLARGE_vci_t * vci, receive_t * receive)
{
    MPIR_Request *rreq = receive->rreq;
    if (MPIDIG_REQUEST(rreq, req->recv_async).recv_type == MPIDIG_RECV_DATATYPE) {
        MPI_Aint room;
        MPIDI_Datatype_check_size(MPIDIG_REQUEST(rreq, datatype), MPIDIG_REQUEST(rreq, count),
                                  room);
        const MPI_Aint bytes = MPL_MIN(room, (MPI_Aint) receive->header.wire.data_bytes);
        MPIR_STATUS_SET_COUNT(rreq->status, bytes);
    }
    MPIDI_BUFENLARGE_keep_error(vci, MPIDIG_REQUEST(rreq, req->target_cmpl_cb) (rreq));
}

/* The last piece has been taken. */
static const char *end_message(MPIDI_BUFENLARGE_vci_t * vci, uint32_t rank, receive_t * receive)
{
    const receive_mode_t mode = receive->mode;
    const MPIDI_BUFENLARGE_header_t *header = &receive->header;
    const char *text = NULL;

    receive->mode = IDLE;
    if (mode == STAGE && header->wire.kind == MPIDI_BUFENLARGE_KIND_SUMMARY) {
        MPIDI_BUFENLARGE_report_arrived(rank, receive->buffer, receive->buffer_have);
        receive->buffer = NULL;
    } else if (mode == STAGE) {
        text = dispatch(vci, &header->wire, header->am_hdr, receive->buffer);
    } else if (mode == UNPACK) {
        unpack_buffer(receive);
    }
    MPL_free(receive->buffer);
    receive->buffer = NULL;
    if (mode == COPY || mode == UNPACK)
        end_request(vci, receive);
    return text;
}

/* Returns what is wrong with the piece. */
static const char *take_piece(MPIDI_BUFENLARGE_vci_t * vci, uint32_t rank, receive_t * receive,
                              const char *data, size_t bytes, unsigned marks)
{
    const char *text = NULL;
    if (((marks & BUFENLARGE_FIRST) != 0) != (receive->mode == IDLE))
        return "a piece of a message is missing";
    if (receive->mode == IDLE) {
        receive->mode = HEADER;
        receive->header_have = 0;
    }
    if (receive->mode == HEADER)
        text = take_header(vci, receive, &data, &bytes);
    if (text != NULL)
        return text;
    if (receive->mode == HEADER)
        return marks & BUFENLARGE_LAST ? "a message ended within its header" : NULL;
    if (bytes > receive->data_left)
        return "a message is longer than its header says";
    take_data(receive, data, bytes);
    if (!(marks & BUFENLARGE_LAST))
        return NULL;
    return receive->data_left > 0 ? "a message is shorter than its header says"
        : end_message(vci, rank, receive);
}

static void receive_piece(MPIDI_BUFENLARGE_vci_t * vci, uint32_t rank, const void *data,
                          size_t bytes, unsigned marks)
{
    MPIDI_BUFENLARGE_peer_t *peer = MPIDI_BUFENLARGE_peer_get(vci, rank);
    if (peer == NULL) {
        MPIDI_BUFENLARGE_peer_lost(vci, rank, BUFENLARGE_ERR_MEMORY, "out of memory");
        return;
    }
    if (peer->lost_text != NULL)
        return;
    if (peer->receive == NULL)
        peer->receive = MPL_calloc(1, sizeof(receive_t), MPL_MEM_BUFFER);
    const char *text = peer->receive ? take_piece(vci, rank, peer->receive, data, bytes, marks)
        : "no memory for a message it sent";
    if (text != NULL)
        MPIDI_BUFENLARGE_peer_lost(vci, rank, BUFENLARGE_ERR_PROTOCOL, text);
}

/* The library's deliver callback. */
void MPIDI_BUFENLARGE_deliver(void *user, uint32_t peer, const void *data, size_t bytes,
                              unsigned marks)
{
    const MPIDI_BUFENLARGE_wire_t *wire = data;
    const MPIDI_BUFENLARGE_eager_t *eager = data;
    const char *rest = (const char *) (wire + 1);
    const size_t rest_bytes = bytes - sizeof(*wire);
    const char *text = "it sent a message whose sizes contradict each other";

    if (unlikely(marks != (BUFENLARGE_FIRST | BUFENLARGE_LAST) || bytes < sizeof(*wire))) {
        receive_piece(user, peer, data, bytes, marks);
        return;
    }
    if (likely(eager->kind == MPIDI_BUFENLARGE_KIND_EAGER)) {
        if (likely(eager->data_bytes == rest_bytes))
            text = MPIDI_BUFENLARGE_eager_deliver(user, eager, rest);
    } else if (unlikely(wire->kind != MPIDI_BUFENLARGE_KIND_AM)) {
        receive_piece(user, peer, data, bytes, marks);
        return;
    } else if (likely(wire->am_hdr_bytes <= rest_bytes
                      && wire->data_bytes == rest_bytes - wire->am_hdr_bytes)) {
        text = dispatch(user, wire, rest, rest + wire->am_hdr_bytes);
    }
    if (unlikely(text != NULL))
        MPIDI_BUFENLARGE_peer_lost(user, peer, BUFENLARGE_ERR_PROTOCOL, text);
}

/* Gives up a message that a lost peer will not end. Only a receive of MPI is completed, with the
 * error: what a one-sided operation would do at its end cannot be done with half of its data. */
void MPIDI_BUFENLARGE_receive_fail(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer)
{
    receive_t *receive = peer->receive;
    if (receive == NULL)
        return;
    const uint8_t handler_id = receive->header.wire.handler_id;
    bool is_receive = (receive->mode == COPY || receive->mode == UNPACK)
        && (handler_id == MPIDIG_SEND || handler_id == MPIDIG_SEND_DATA);
    receive->mode = IDLE;
    MPL_free(receive->buffer);
    receive->buffer = NULL;
    if (is_receive) {
        receive->rreq->status.MPI_ERROR = MPIDI_BUFENLARGE_peer_error(peer);
        end_request(vci, receive);
    }
}
