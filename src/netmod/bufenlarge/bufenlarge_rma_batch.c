/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_rma_batch.c: small one-sided operations at their origin.
 */
#include "mpidimpl.h"
#include "bufenlarge_am_send.h"
#include "bufenlarge_rma_impl.h"
#include "utlist.h"

typedef MPIDI_BUFENLARGE_oneside_t oneside_t;
typedef MPIDI_BUFENLARGE_operation_t operation_t;
typedef MPIDI_BUFENLARGE_record_t record_t;
typedef MPIDI_BUFENLARGE_window_t window_t;

#define HEADER_BYTES offsetof(MPIDI_BUFENLARGE_batch_t, records)

/* A Get whose answer is to come. Its name is its place in the table, from 1. */
typedef struct {
    window_t *window;           /* NULL: not in use */
    int target;
    uint32_t bytes;
    uint32_t peer;
    uint32_t next_free;
    void *to;
    MPIR_Request *request;      /* or NULL */
} get_t;

typedef struct MPIDI_BUFENLARGE_gets {
    uint32_t room;
    uint32_t first_free;        /* a name; 0: none */
    get_t gets[];
} gets_t;

/* NULL when memory is out. */
oneside_t *MPIDI_BUFENLARGE_oneside_of(MPIDI_BUFENLARGE_peer_t * peer)
{
    if (likely(peer->oneside != NULL))
        return peer->oneside;
    peer->oneside = MPL_calloc(1, sizeof(oneside_t), MPL_MEM_RMA);
    if (peer->oneside)
        peer->oneside->peer = peer;
    return peer->oneside;
}

void MPIDI_BUFENLARGE_pending_list(window_t * window, int target)
{
    if (window->pending[target].listed)
        return;
    window->pending[target].listed = true;
    window->listed[window->listed_count++] = target;
}

/* Sends a message behind all that waits. Its memory is the caller's again. */
static void send_whole(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer,
                       MPIDI_BUFENLARGE_send_t * send, unsigned flags)
{
    if (peer->lost_text || (peer->direct && MPIDI_BUFENLARGE_try_send(peer->direct, send, flags)))
        return;
    MPIDI_BUFENLARGE_deferred_t *deferred =
        send->status == BUFENLARGE_OK ? MPIDI_BUFENLARGE_deferred_copy(send) : NULL;
    if (deferred)
        MPIDI_BUFENLARGE_backlog_append(peer, deferred);
    else if (send->status == BUFENLARGE_OK)
        MPIDI_BUFENLARGE_peer_lost(vci, peer->number, BUFENLARGE_ERR_MEMORY, "out of memory");
    else
        MPIDI_BUFENLARGE_peer_lost(vci, peer->number, send->status,
                                   bufenlarge_channel_error(peer->channel));
}

/* The message is one element. */
void MPIDI_BUFENLARGE_post(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer,
                           const void *message, size_t bytes)
{
    MPIDI_BUFENLARGE_send_t send = {.header = message,.header_bytes = bytes };
    send_whole(vci, peer, &send, 0);
}

/* -- batches -- */

static MPIDI_BUFENLARGE_wire_t operations_wire(size_t record_bytes)
{
    return (MPIDI_BUFENLARGE_wire_t) {.kind = MPIDI_BUFENLARGE_KIND_OPERATIONS,
        .am_hdr_bytes = sizeof(((MPIDI_BUFENLARGE_batch_t *) NULL)->win_id),.data_bytes = record_bytes
    };
}

/* Completes the header; returns the length of the message. */
size_t MPIDI_BUFENLARGE_batch_seal(oneside_t * one)
{
    one->batch.wire = operations_wire(one->bytes);
    return HEADER_BYTES + one->bytes;
}

void MPIDI_BUFENLARGE_batch_clear(MPIDI_BUFENLARGE_vci_t * vci, oneside_t * one)
{
    if (one->bytes > 0)
        DL_DELETE(vci->held, one);
    one->bytes = one->answer_bytes = 0;
}

void MPIDI_BUFENLARGE_batch_push(MPIDI_BUFENLARGE_vci_t * vci, oneside_t * one)
{
    const size_t bytes = MPIDI_BUFENLARGE_batch_seal(one);
    MPIDI_BUFENLARGE_batch_clear(vci, one);
    MPIDI_BUFENLARGE_post(vci, one->peer, &one->batch, bytes);
}

/* Progress: nothing is held longer. */
void MPIDI_BUFENLARGE_oneside_push(MPIDI_BUFENLARGE_vci_t * vci)
{
    while (vci->held)
        MPIDI_BUFENLARGE_batch_push(vci, vci->held);
}

/* Appends a record and returns the place of its data. */
char *MPIDI_BUFENLARGE_batch_append(MPIDI_BUFENLARGE_vci_t * vci, oneside_t * one, uint64_t offset,
                                    size_t bytes, uint32_t id, size_t data_bytes)
{
    const record_t record = {.offset = offset,.bytes = (uint32_t) bytes,.id = id };
    char *at = one->batch.records + one->bytes;
    if (one->bytes == 0)
        DL_APPEND(vci->held, one);
    memcpy(at, &record, sizeof(record));
    one->bytes += sizeof(record) + MPIDI_BUFENLARGE_PADDED(data_bytes);
    return at + sizeof(record);
}

/* Makes room for a record and its answer, and for a question after it. NULL: this will not do for a batch, since it
 * would not go in one slot of the channel as it is. */
static oneside_t *make_room(MPIDI_BUFENLARGE_vci_t * vci, const operation_t * operation,
                            size_t data_bytes, size_t answer_bytes)
{
    const size_t needed = sizeof(record_t) + MPIDI_BUFENLARGE_PADDED(data_bytes);
    const size_t answer =
        answer_bytes ? sizeof(MPIDI_BUFENLARGE_answer_t) + MPIDI_BUFENLARGE_PADDED(answer_bytes) : 0;
    const size_t fixed = HEADER_BYTES + sizeof(record_t);
    const size_t most =
        MPL_MIN(bufenlarge_channel_element_max(operation->peer->channel), sizeof(MPIDI_BUFENLARGE_batch_t));
    if (fixed + MPL_MAX(needed, answer) > most)
        return NULL;
    oneside_t *one = MPIDI_BUFENLARGE_oneside_of(operation->peer);
    if (one == NULL)
        return NULL;
    const uint64_t win_id = MPIDIG_WIN(operation->window->win, win_id);
    if (one->bytes > 0 && (one->batch.win_id != win_id || fixed + one->bytes + needed > most
                           || fixed + one->answer_bytes + answer > most))
        MPIDI_BUFENLARGE_batch_push(vci, one);
    one->batch.win_id = win_id;
    one->answer_bytes += answer;
    return one;
}

static void note_put(const operation_t * operation)
{
    operation->window->pending[operation->target].mark = ++operation->peer->oneside->issued;
    MPIDI_BUFENLARGE_pending_list(operation->window, operation->target);
}

/* A Put that no batch has room for goes at once, from the user's memory; a question after it shares its write. False: it is
 * longer than such a message may be, or would need padding. */
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
    if (head.wire.data_bytes > MPIDI_BUFENLARGE_EAGER_MAX || MPIDI_BUFENLARGE_PADDED(operation->bytes) != operation->bytes)
        return false;
    send_whole(MPIDI_BUFENLARGE_window_vci(operation->window->win), operation->peer, &send, BUFENLARGE_CORK);
    note_put(operation);
    return true;
}

/* Small data, and what is no write. False: it is to go as MPIDIG's message. */
bool MPIDI_BUFENLARGE_put_copy(const operation_t * operation)
{
    MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_window_vci(operation->window->win);
    oneside_t *one = make_room(vci, operation, operation->bytes, 0);
    if (one == NULL)
        return put_alone(operation);
    char *at = MPIDI_BUFENLARGE_batch_append(vci, one, operation->offset, operation->bytes,
                                             MPIDI_BUFENLARGE_PUT, operation->bytes);
    memcpy(at, operation->addr, operation->bytes);
    note_put(operation);
    return true;
}

/* An RDMA write was posted. */
void MPIDI_BUFENLARGE_note_write(const operation_t * operation)
{
    note_put(operation);
    operation->peer->oneside->written = operation->peer->oneside->issued;
    operation->window->pending[operation->target].writes++;
}

/* -- Gets -- */

static bool grow_table(MPIDI_BUFENLARGE_vci_t * vci)
{
    const uint32_t before = vci->gets ? vci->gets->room : 0, room = before ? 2 * before : 64;
    gets_t *gets = MPL_realloc(vci->gets, sizeof(*gets) + room * sizeof(get_t), MPL_MEM_RMA);
    if (gets == NULL)
        return false;
    for (uint32_t i = before; i < room; i++) {
        gets->gets[i].window = NULL;
        gets->gets[i].next_free = i + 1 < room ? i + 2 : 0;
    }
    gets->room = room;
    gets->first_free = before + 1;
    vci->gets = gets;
    return true;
}

bool MPIDI_BUFENLARGE_batch_get(const operation_t * operation, MPIR_Request * request)
{
    MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_window_vci(operation->window->win);
    if ((!vci->gets || vci->gets->first_free == 0) && !grow_table(vci))
        return false;
    oneside_t *one = make_room(vci, operation, 0, operation->bytes);
    if (one == NULL)
        return false;
    const uint32_t id = vci->gets->first_free;
    get_t *get = &vci->gets->gets[id - 1];
    vci->gets->first_free = get->next_free;
    get->window = operation->window;
    get->target = operation->target;
    get->bytes = (uint32_t) operation->bytes;
    get->peer = operation->peer->number;
    get->to = operation->addr;
    get->request = request;
    MPIDI_BUFENLARGE_batch_append(vci, one, operation->offset, operation->bytes, id, 0);
    operation->window->pending[operation->target].gets++;
    MPIDI_BUFENLARGE_pending_list(operation->window, operation->target);
    return true;
}

static void end_get(MPIDI_BUFENLARGE_vci_t * vci, uint32_t id, int mpi_errno)
{
    get_t *get = &vci->gets->gets[id - 1];
    MPIR_Request *request = get->request;
    get->window->pending[get->target].gets--;
    get->window = NULL;
    get->next_free = vci->gets->first_free;
    vci->gets->first_free = id;
    if (request) {
        request->status.MPI_ERROR = mpi_errno;
        MPID_Request_complete(request);
    }
}

/* An answer has come. Returns what is wrong with it. */
const char *MPIDI_BUFENLARGE_got(MPIDI_BUFENLARGE_vci_t * vci, uint32_t rank, uint32_t id,
                                 const void *data, uint32_t bytes)
{
    get_t *get = vci->gets && id <= vci->gets->room ? &vci->gets->gets[id - 1] : NULL;
    if (get == NULL || get->window == NULL || get->peer != rank || get->bytes != bytes)
        return "it answered a Get that was not asked for";
    memcpy(get->to, data, bytes);
    end_get(vci, id, MPI_SUCCESS);
    return NULL;
}

/* What waited for a lost peer. */
void MPIDI_BUFENLARGE_oneside_fail(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer)
{
    if (peer->oneside)
        MPIDI_BUFENLARGE_batch_clear(vci, peer->oneside);
    for (uint32_t id = 1; vci->gets && id <= vci->gets->room; id++) {
        const get_t *get = &vci->gets->gets[id - 1];
        if (get->window && get->peer == peer->number)
            end_get(vci, id, MPIDI_BUFENLARGE_peer_error(peer));
    }
}
