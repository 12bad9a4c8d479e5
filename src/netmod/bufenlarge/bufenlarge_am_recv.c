/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_am_recv.c: messages, incoming. The library delivers a message in pieces, in order.
 *
 * Most messages are one piece: the handler gets pointers into the receive ring and copies straight to
 * the user. For the others there is one state per peer:
 *
 *   IDLE -> HEADER    first piece; collects wire header and am_hdr, which may be split anywhere
 *   HEADER -> DATA    handler called with IS_ASYNC; pieces go to the user as they come (bufenlarge_am_data.c)
 *   HEADER -> STAGE   kept until it is whole, then handled as if it had been one piece
 *   any    -> IDLE    last piece
 *
 * STAGE is for messages without data, reports, small one-sided operations, and an MPIDIG_SEND that no receive waits
 * for. MPICH 4.0.2 has a state for the latter (MPIDIG_REQ_BUSY), but a receive posted while it lasts completes without
 * a status, and a request and a reference to the communicator leak. Staging costs one more copy of eager_max at most.
 */
#include "mpidimpl.h"
#include "bufenlarge_rma_impl.h"

/* More than the report of a process with a million channels. */
#define REPORT_BYTES_MAX ((uint64_t) 1 << 30)

/* More than MPICH puts into a message between processes that connect. */
#define DYNAMIC_BYTES_MAX ((uint64_t) 4096)

#define CONTRADICTION "it sent a message whose sizes contradict each other"

typedef enum { IDLE, HEADER, DATA, STAGE } receive_mode_t;

typedef struct MPIDI_BUFENLARGE_receive {
    receive_mode_t mode;
    size_t header_have;
    MPIDI_BUFENLARGE_data_t data;       /* DATA */
    uint64_t left;              /* STAGE: of the data */
    char *buffer;               /* STAGE */
    size_t buffer_have;
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
        && (wire->kind == MPIDI_BUFENLARGE_KIND_LARGE
            || hdr->data_sz <= MPIR_CVAR_CH4_AM_PACK_BUFFER_SIZE);
}

/* What is wrong with an active message; NULL: nothing. */
const char *MPIDI_BUFENLARGE_refusal(const MPIDI_BUFENLARGE_wire_t * wire, const void *am_hdr)
{
    const bool large = wire->kind == MPIDI_BUFENLARGE_KIND_LARGE;
    if (unlikely((wire->kind != MPIDI_BUFENLARGE_KIND_AM && !large)
                 || large != (wire->exposure != 0)))
        return "it sent a message of unknown kind";
    if (unlikely(wire->handler_id >= MPIDI_AM_HANDLERS_MAX ||
                 MPIDIG_global.target_msg_cbs[wire->handler_id] == NULL))
        return "it sent an active message that has no handler";
    if (wire->handler_id == MPIDIG_SEND && unlikely(!send_is_valid(wire, am_hdr)))
        return CONTRADICTION;
    return NULL;
}

/* Handles a message that is here as a whole. Returns what is wrong with it. */
static const char *dispatch(MPIDI_BUFENLARGE_vci_t * vci, uint32_t rank,
                            const MPIDI_BUFENLARGE_wire_t * wire, const void *am_hdr,
                            const void *data)
{
    if (wire->kind == MPIDI_BUFENLARGE_KIND_RMA_OPERATIONS)
        return MPIDI_BUFENLARGE_operations_arrived(vci, rank, wire, am_hdr, data);
    if (wire->kind == MPIDI_BUFENLARGE_KIND_RMA_REPLIES)
        return MPIDI_BUFENLARGE_replies_arrived(vci, rank, wire, am_hdr, data);
    const char *text = MPIDI_BUFENLARGE_refusal(wire, am_hdr);
    if (unlikely(text != NULL))
        return text;
    uint32_t attr = 0;
    MPIDIG_AM_ATTR_SET_VCIS(attr, vci->number, vci->number);
    int mpi_errno =
        MPIDIG_global.target_msg_cbs[wire->handler_id] ((void *) am_hdr, (void *) data,
                                                        (MPI_Aint) wire->data_bytes, attr, NULL);
    if (unlikely(mpi_errno != MPI_SUCCESS))
        MPIDI_BUFENLARGE_keep_error(vci, mpi_errno);
    return NULL;
}

static bool is_awaited(const MPIDI_BUFENLARGE_vci_t * vci, const MPIDIG_hdr_t * hdr)
{
    return MPIDIG_rreq_find(hdr->src_rank, hdr->tag, hdr->context_id,
                            &MPIDI_global.per_vci[vci->number].posted_list, MPIDIG_PT2PT_POSTED) != NULL;
}

static const char *begin_stage(receive_t * receive, size_t bytes)
{
    receive->mode = STAGE;
    receive->left = bytes;
    receive->buffer_have = 0;
    receive->buffer = bytes > 0 ? MPL_malloc(bytes, MPL_MEM_BUFFER) : NULL;
    return bytes > 0 && receive->buffer == NULL ? "no memory for a message it sent" : NULL;
}

/* Calls the handler, which says where the data is to go. */
static const char *begin_data(MPIDI_BUFENLARGE_vci_t * vci, receive_t * receive)
{
    MPIR_Request *rreq;
    MPIDI_BUFENLARGE_keep_error(vci, MPIDI_BUFENLARGE_call_handler(vci, &receive->header.wire,
                                                                   receive->header.am_hdr,
                                                                   MPIDIG_AM_ATTR__IS_ASYNC,
                                                                   &rreq));
    receive->mode = DATA;
    return MPIDI_BUFENLARGE_data_begin(&receive->data, rreq, receive->header.wire.data_bytes);
}

/* The header is whole: decides how the data is received. */
static const char *end_header(MPIDI_BUFENLARGE_vci_t * vci, uint32_t rank, receive_t * receive)
{
    const MPIDI_BUFENLARGE_header_t *header = &receive->header;
    const size_t data_bytes = (size_t) header->wire.data_bytes;

    if (header->wire.kind == MPIDI_BUFENLARGE_KIND_SUMMARY) {
        if (MPIR_Process.rank != 0 || data_bytes > REPORT_BYTES_MAX)
            return "it sent a report that nobody collects";
        return begin_stage(receive, data_bytes);
    }
    if (MPIDI_BUFENLARGE_is_oneside(&header->wire))
        return data_bytes > MPIDI_BUFENLARGE_EAGER_MAX ? CONTRADICTION
            : begin_stage(receive, data_bytes);
    const bool is_foreign = rank >= (uint32_t) MPIR_Process.size;
    if (header->wire.kind == MPIDI_BUFENLARGE_KIND_DYNAMIC
        || (header->wire.kind == MPIDI_BUFENLARGE_KIND_FAREWELL && is_foreign))
        return data_bytes > DYNAMIC_BYTES_MAX ? CONTRADICTION : begin_stage(receive, data_bytes);
    const char *text = MPIDI_BUFENLARGE_refusal(&header->wire, header->am_hdr);
    if (text != NULL)
        return text;
    if (header->wire.kind == MPIDI_BUFENLARGE_KIND_LARGE)
        return begin_stage(receive, 0);
    if (data_bytes == 0 || (header->wire.handler_id == MPIDIG_SEND
                            && !is_awaited(vci, (const MPIDIG_hdr_t *) header->am_hdr)))
        return begin_stage(receive, data_bytes);
    return begin_data(vci, receive);
}

/* Takes what belongs to the header off the front of a piece. */
static const char *take_header(MPIDI_BUFENLARGE_vci_t * vci, uint32_t rank, receive_t * receive,
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
            return end_header(vci, rank, receive);
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

/* Returns what is wrong. */
static const char *take_data(receive_t * receive, const char *data, size_t bytes)
{
    const bool staged = receive->mode == STAGE;
    if (bytes > (staged ? receive->left : receive->data.left))
        return "a message is longer than its header says";
    if (staged) {
        memcpy(receive->buffer + receive->buffer_have, data, bytes);
        receive->buffer_have += bytes;
        receive->left -= bytes;
    } else {
        MPIDI_BUFENLARGE_data_take(&receive->data, data, bytes);
    }
    return NULL;
}

static void complete_data(MPIDI_BUFENLARGE_vci_t * vci, receive_t * receive)
{
    MPIR_Request *rreq = receive->data.rreq;
    MPIDI_BUFENLARGE_data_end(&receive->data);
    if (rreq)
        MPIDI_BUFENLARGE_keep_error(vci, MPIDIG_REQUEST(rreq, req->target_cmpl_cb) (rreq));
}

/* The last piece has been taken. */
static const char *end_message(MPIDI_BUFENLARGE_vci_t * vci, uint32_t rank, receive_t * receive)
{
    const MPIDI_BUFENLARGE_header_t *header = &receive->header;
    const char *text = NULL;
    const bool staged = receive->mode == STAGE;

    if ((staged ? receive->left : receive->data.left) > 0)
        return "a message is shorter than its header says";
    receive->mode = IDLE;
    if (!staged) {
        complete_data(vci, receive);
    } else if (header->wire.kind == MPIDI_BUFENLARGE_KIND_SUMMARY) {
        MPIDI_BUFENLARGE_report_arrived(rank, receive->buffer, receive->buffer_have);
        receive->buffer = NULL;
    } else if (header->wire.kind == MPIDI_BUFENLARGE_KIND_DYNAMIC) {
        MPIDI_BUFENLARGE_dynamic_arrived((int) header->wire.exposure, receive->buffer, receive->buffer_have);
        receive->buffer = NULL;
    } else if (header->wire.kind == MPIDI_BUFENLARGE_KIND_FAREWELL) {
        MPIDI_BUFENLARGE_farewell_arrived(MPIDI_BUFENLARGE_peer_get(vci, rank), header->wire.exposure);
    } else if (header->wire.kind == MPIDI_BUFENLARGE_KIND_LARGE) {
        text = MPIDI_BUFENLARGE_large_arrived(vci, rank, &header->wire, header->am_hdr);
    } else {
        text = dispatch(vci, rank, &header->wire, header->am_hdr, receive->buffer);
    }
    MPL_free(receive->buffer);
    receive->buffer = NULL;
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
        text = take_header(vci, rank, receive, &data, &bytes);
    if (text != NULL)
        return text;
    if (receive->mode == HEADER)
        return marks & BUFENLARGE_LAST ? "a message ended within its header" : NULL;
    text = take_data(receive, data, bytes);
    if (text != NULL || !(marks & BUFENLARGE_LAST))
        return text;
    return end_message(vci, rank, receive);
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

/* A message of one piece, header first. Returns what is wrong with it. */
static const char *take_whole(MPIDI_BUFENLARGE_vci_t * vci, uint32_t rank,
                              const MPIDI_BUFENLARGE_wire_t * wire, size_t bytes)
{
    const char *am_hdr = (const char *) (wire + 1);
    const size_t rest = bytes - sizeof(*wire);
    const bool large = wire->kind == MPIDI_BUFENLARGE_KIND_LARGE;

    if (unlikely(wire->am_hdr_bytes > rest
                 || (large ? 0 : wire->data_bytes) != rest - wire->am_hdr_bytes))
        return CONTRADICTION;
    return unlikely(large) ? MPIDI_BUFENLARGE_large_arrived(vci, rank, wire, am_hdr)
        : dispatch(vci, rank, wire, am_hdr, am_hdr + wire->am_hdr_bytes);
}

static const char *take_eager(MPIDI_BUFENLARGE_vci_t * vci, const MPIDI_BUFENLARGE_eager_t * eager,
                              size_t bytes)
{
    if (unlikely(eager->data_bytes != bytes - sizeof(*eager)))
        return CONTRADICTION;
    return MPIDI_BUFENLARGE_eager_deliver(vci, eager, eager + 1);
}

/* The library's deliver callback. */
void MPIDI_BUFENLARGE_deliver(void *user, uint32_t peer, const void *data, size_t bytes,
                              unsigned marks)
{
    const MPIDI_BUFENLARGE_wire_t *wire = data;
    const char *text;

    if (unlikely(marks != (BUFENLARGE_FIRST | BUFENLARGE_LAST) || bytes < sizeof(*wire))) {
        receive_piece(user, peer, data, bytes, marks);
        return;
    }
    if (likely(wire->kind == MPIDI_BUFENLARGE_KIND_EAGER)) {
        text = take_eager(user, data, bytes);
    } else if (likely(wire->kind == MPIDI_BUFENLARGE_KIND_AM
                      || wire->kind == MPIDI_BUFENLARGE_KIND_LARGE || MPIDI_BUFENLARGE_is_oneside(wire))) {
        text = take_whole(user, peer, wire, bytes);
    } else {
        receive_piece(user, peer, data, bytes, marks);
        return;
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
    bool is_receive = receive->mode == DATA && receive->data.rreq
        && (handler_id == MPIDIG_SEND || handler_id == MPIDIG_SEND_DATA);
    const bool has_data = receive->mode == DATA;
    receive->mode = IDLE;
    MPL_free(receive->buffer);
    receive->buffer = NULL;
    if (is_receive) {
        receive->data.rreq->status.MPI_ERROR = MPIDI_BUFENLARGE_peer_error(peer);
        complete_data(vci, receive);
    } else if (has_data) {
        MPL_free(receive->data.buffer);
    }
}
