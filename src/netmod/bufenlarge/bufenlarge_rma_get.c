/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_rma_get.c: small Gets at their origin. They go in batches (bufenlarge_rma_batch.c); a table has each until
 * its reply comes. Nothing in a reply is trusted: a wrong one ends the connection.
 */
#include "mpidimpl.h"
#include "bufenlarge_rma_impl.h"

typedef MPIDI_BUFENLARGE_operation_t operation_t;
typedef MPIDI_BUFENLARGE_rma_t rma_t;

/* A Get whose reply is to come. Its id is its place in the table, from 1. */
typedef struct {
    MPIDI_BUFENLARGE_window_t *window;  /* NULL: not in use */
    int target;
    uint32_t bytes;
    uint32_t peer;
    uint32_t next_free;
    void *to;
    MPIR_Request *request;      /* or NULL */
} get_t;

typedef struct MPIDI_BUFENLARGE_gets {
    uint32_t room;
    uint32_t first_free;        /* an id; 0: none */
    get_t gets[];
} gets_t;

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

/* Sends a Get in a batch. Returns false when MPIDIG's message has to carry it. */
bool MPIDI_BUFENLARGE_get_copy(const operation_t * operation, MPIR_Request * request)
{
    MPIDI_BUFENLARGE_vci_t *vci = MPIDI_BUFENLARGE_window_vci(operation->window->win);
    if ((!vci->gets || vci->gets->first_free == 0) && !grow_table(vci))
        return false;
    rma_t *rma = MPIDI_BUFENLARGE_batch_room(vci, operation, 0, operation->bytes);
    if (rma == NULL)
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
    MPIDI_BUFENLARGE_batch_append(vci, rma, operation->offset, operation->bytes, id, 0);
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

/* -- replies: the functions return what is wrong with them, NULL when nothing is -- */

static const char *take_get_reply(MPIDI_BUFENLARGE_vci_t * vci, uint32_t peer, const MPIDI_BUFENLARGE_reply_t * reply,
                                  const void *data)
{
    get_t *get = vci->gets && reply->id <= vci->gets->room ? &vci->gets->gets[reply->id - 1] : NULL;
    if (get == NULL || get->window == NULL || get->peer != peer || get->bytes != reply->bytes)
        return "it replied to a Get that was not sent";
    memcpy(get->to, data, reply->bytes);
    end_get(vci, reply->id, MPI_SUCCESS);
    return NULL;
}

static const char *take_flush_reply(rma_t * rma, const MPIDI_BUFENLARGE_reply_t * reply, const void *data)
{
    uint64_t number = 0;
    if (reply->bytes == sizeof(number))
        memcpy(&number, data, sizeof(number));
    if (rma == NULL || number <= rma->flushed || number > rma->flush_requested)
        return "it replied to a flush request that was not sent";
    rma->flushed = number;
    return NULL;
}

static const char *take_replies(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer,
                                const char *data, size_t left)
{
    while (left > 0) {
        MPIDI_BUFENLARGE_reply_t reply;
        if (left < sizeof(reply))
            return "it sent a reply that is cut off";
        memcpy(&reply, data, sizeof(reply));
        const size_t all = sizeof(reply) + MPIDI_BUFENLARGE_PADDED(reply.bytes);
        if (all > left || reply.id == MPIDI_BUFENLARGE_PUT)
            return "it sent a reply that is cut off";
        const char *text = reply.id == MPIDI_BUFENLARGE_FLUSH
            ? take_flush_reply(peer->rma, &reply, data + sizeof(reply))
            : take_get_reply(vci, peer->number, &reply, data + sizeof(reply));
        if (unlikely(text != NULL))
            return text;
        data += all;
        left -= all;
    }
    return NULL;
}

/* Called for the replies to a batch, whole. */
const char *MPIDI_BUFENLARGE_replies_arrived(MPIDI_BUFENLARGE_vci_t * vci, uint32_t number,
                                             const MPIDI_BUFENLARGE_wire_t * wire,
                                             const void *am_hdr, const void *data)
{
    MPIDI_BUFENLARGE_peer_t *peer = MPIDI_BUFENLARGE_peer_get(vci, number);
    if (peer == NULL)
        return MPIDI_BUFENLARGE_NO_MEMORY;
    if (wire->am_hdr_bytes != 0)
        return "it sent one-sided operations with a wrong header";
    return take_replies(vci, peer, data, (size_t) wire->data_bytes);
}

/* Ends what waits for a lost peer. */
void MPIDI_BUFENLARGE_rma_fail(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer)
{
    if (peer->rma)
        MPIDI_BUFENLARGE_batch_clear(vci, peer->rma);
    for (uint32_t id = 1; vci->gets && id <= vci->gets->room; id++) {
        const get_t *get = &vci->gets->gets[id - 1];
        if (get->window && get->peer == peer->number)
            end_get(vci, id, MPIDI_BUFENLARGE_peer_error(peer));
    }
}
