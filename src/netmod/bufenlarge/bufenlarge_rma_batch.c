/* SPDX-License-Identifier: MIT */
/* bufenlarge_rma_batch.c: small one-sided operations at their origin, collected in batches. */
#include "mpidimpl.h"
#include "bufenlarge_am_send.h"
#include "bufenlarge_rma_impl.h"
#include "utlist.h"

typedef MPIDI_BUFENLARGE_operation_t operation_t;
typedef MPIDI_BUFENLARGE_record_t record_t;
typedef MPIDI_BUFENLARGE_rma_t rma_t;

#define HEADER_BYTES offsetof(MPIDI_BUFENLARGE_batch_t, records)

/* Returns what is kept of the peer, which is made at the first call; NULL when there is no memory for it. */
rma_t *MPIDI_BUFENLARGE_rma_of(MPIDI_BUFENLARGE_peer_t * peer)
{
    if (likely(peer->rma != NULL))
        return peer->rma;
    peer->rma = MPL_calloc(1, sizeof(rma_t), MPL_MEM_RMA);
    if (peer->rma)
        peer->rma->peer = peer;
    return peer->rma;
}

/* Sends a message behind everything in the backlog. Its memory is the caller's again on return. */
static void send_whole(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer,
                       MPIDI_BUFENLARGE_send_t * send, unsigned flags)
{
    if (peer->lost_text || (peer->direct && MPIDI_BUFENLARGE_try_send(peer->direct, send, flags)))
        return;
    MPIDI_BUFENLARGE_deferred_t *deferred =
        send->status == BUFENLARGE_OK ? MPIDI_BUFENLARGE_deferred_copy(send) : NULL;
    if (deferred && peer->rma) {        /* NULL: it is a reply, whose number the other side's operations bound */
        deferred->copied = sizeof(*deferred) + send->header_bytes + send->data_bytes;
        MPIDI_BUFENLARGE_rma_waits(vci, peer->rma, deferred->copied);
    }
    if (deferred)
        MPIDI_BUFENLARGE_backlog_append(peer, deferred);
    else if (send->status == BUFENLARGE_OK)
        MPIDI_BUFENLARGE_peer_lost(vci, peer->number, BUFENLARGE_ERR_MEMORY, "out of memory");
    else
        MPIDI_BUFENLARGE_peer_lost(vci, peer->number, send->status,
                                   bufenlarge_channel_error(peer->channel));
}

/* Sends a message that is one element. */
void MPIDI_BUFENLARGE_rma_send(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer,
                               const void *message, size_t bytes)
{
    MPIDI_BUFENLARGE_send_t send = {.header = message,.header_bytes = bytes };
    send_whole(vci, peer, &send, 0);
}

/* -- batches -- */

static MPIDI_BUFENLARGE_wire_t operations_wire(size_t record_bytes)
{
    return (MPIDI_BUFENLARGE_wire_t) {.kind = MPIDI_BUFENLARGE_KIND_RMA_OPERATIONS,
        .am_hdr_bytes = sizeof(((MPIDI_BUFENLARGE_batch_t *) NULL)->win_id),.data_bytes = record_bytes
    };
}

/* Completes the header; returns the length of the message. */
size_t MPIDI_BUFENLARGE_batch_seal(rma_t * rma)
{
    rma->batch.wire = operations_wire(rma->bytes);
    return HEADER_BYTES + rma->bytes;
}

void MPIDI_BUFENLARGE_batch_clear(MPIDI_BUFENLARGE_vci_t * vci, rma_t * rma)
{
    if (rma->bytes > 0)
        DL_DELETE(vci->batches, rma);
    rma->bytes = rma->reply_bytes = 0;
}

void MPIDI_BUFENLARGE_batch_send(MPIDI_BUFENLARGE_vci_t * vci, rma_t * rma)
{
    const size_t bytes = MPIDI_BUFENLARGE_batch_seal(rma);
    MPIDI_BUFENLARGE_batch_clear(vci, rma);
    MPIDI_BUFENLARGE_rma_send(vci, rma->peer, &rma->batch, bytes);
}

/* Called with each round of progress: no batch waits longer. */
void MPIDI_BUFENLARGE_batches_send(MPIDI_BUFENLARGE_vci_t * vci)
{
    while (vci->batches)
        MPIDI_BUFENLARGE_batch_send(vci, vci->batches);
}

/* Appends a record and returns the place of its data. */
char *MPIDI_BUFENLARGE_batch_append(MPIDI_BUFENLARGE_vci_t * vci, rma_t * rma, uint64_t offset,
                                    size_t bytes, uint32_t id, size_t data_bytes)
{
    const record_t record = {.offset = offset,.bytes = (uint32_t) bytes,.id = id };
    char *at = rma->batch.records + rma->bytes;
    if (rma->bytes == 0)
        DL_APPEND(vci->batches, rma);
    memcpy(at, &record, sizeof(record));
    rma->bytes += sizeof(record) + MPIDI_BUFENLARGE_PADDED(data_bytes);
    return at + sizeof(record);
}

/* Makes room for a record and its reply, and for a flush request after it. Returns NULL when the operation is too large
 * for a batch. A batch goes in one slot of the channel as it is, unless it has to wait behind others anyway: then more
 * share a message. */
rma_t *MPIDI_BUFENLARGE_batch_room(MPIDI_BUFENLARGE_vci_t * vci, const operation_t * operation,
                                   size_t data_bytes, size_t reply_bytes)
{
    const size_t needed = sizeof(record_t) + MPIDI_BUFENLARGE_PADDED(data_bytes);
    const size_t reply =
        reply_bytes ? sizeof(MPIDI_BUFENLARGE_reply_t) + MPIDI_BUFENLARGE_PADDED(reply_bytes) : 0;
    const size_t fixed = HEADER_BYTES + sizeof(record_t);
    const size_t slot =
        MPL_MIN(bufenlarge_channel_element_max(operation->peer->channel), sizeof(MPIDI_BUFENLARGE_batch_t));
    const size_t most = operation->peer->direct ? slot : sizeof(MPIDI_BUFENLARGE_batch_t);
    if (fixed + MPL_MAX(needed, reply) > slot)
        return NULL;
    rma_t *rma = MPIDI_BUFENLARGE_rma_of(operation->peer);
    if (rma == NULL)
        return NULL;
    const uint64_t win_id = MPIDIG_WIN(operation->window->win, win_id);
    if (rma->bytes > 0 && (rma->batch.win_id != win_id || fixed + rma->bytes + needed > most
                           || fixed + rma->reply_bytes + reply > most))
        MPIDI_BUFENLARGE_batch_send(vci, rma);
    rma->batch.win_id = win_id;
    rma->reply_bytes += reply;
    return rma;
}

/* -- Puts -- */

static void note_put(const operation_t * operation)
{
    operation->window->pending[operation->target].last_put = ++operation->peer->rma->issued;
    MPIDI_BUFENLARGE_pending_list(operation->window, operation->target);
}

/* Sends a Put that no batch has room for at once, from the user's memory; a flush request after it shares its RDMA
 * write. Returns false when it is longer than such a message may be, or would need padding. */
static bool put_alone(const operation_t * operation)
{
    struct {
        MPIDI_BUFENLARGE_wire_t wire;
        uint64_t win_id;
        record_t record;
    } head = {
        .wire = operations_wire(sizeof(record_t) + operation->bytes),
        .win_id = MPIDIG_WIN(operation->window->win, win_id),
        .record = {.offset = operation->offset,.bytes = (uint32_t) operation->bytes,.id = MPIDI_BUFENLARGE_PUT}
    };
    MPIDI_BUFENLARGE_send_t send = {.header = &head,.header_bytes = sizeof(head),
        .data = operation->addr,.data_bytes = operation->bytes
    };
    if (head.wire.data_bytes > MPIDI_BUFENLARGE_EAGER_MAX
        || MPIDI_BUFENLARGE_PADDED(operation->bytes) != operation->bytes)
        return false;
    send_whole(MPIDI_BUFENLARGE_window_vci(operation->window->win), operation->peer, &send, BUFENLARGE_CORK);
    note_put(operation);
    return true;
}

/* Sends a Put with a copy of its data. Returns false when MPIDIG's message has to carry it. */
bool MPIDI_BUFENLARGE_put_copy(const operation_t * operation)
{
    MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_window_vci(operation->window->win);
    rma_t *rma = MPIDI_BUFENLARGE_batch_room(vci, operation, operation->bytes, 0);
    if (rma == NULL)
        return put_alone(operation);
    char *at = MPIDI_BUFENLARGE_batch_append(vci, rma, operation->offset, operation->bytes,
                                             MPIDI_BUFENLARGE_PUT, operation->bytes);
    memcpy(at, operation->addr, operation->bytes);
    note_put(operation);
    return true;
}

/* Notes an RDMA write that was posted. */
void MPIDI_BUFENLARGE_note_write(const operation_t * operation)
{
    note_put(operation);
    operation->peer->rma->written = operation->peer->rma->issued;
    operation->window->pending[operation->target].writes++;
}
