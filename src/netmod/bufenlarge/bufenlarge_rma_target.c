/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_rma_target.c: small one-sided operations at their target. Nothing in them is trusted: a record that goes
 * beyond its message or the window ends the connection.
 */
#include "mpidimpl.h"
#include "bufenlarge_rma_impl.h"

/* The replies to one batch, as they are collected. */
typedef struct {
    MPIDI_BUFENLARGE_vci_t *vci;
    MPIDI_BUFENLARGE_peer_t *peer;
    size_t bytes;
    MPIDI_BUFENLARGE_replies_t message;
} replies_t;

static void replies_send(replies_t * replies)
{
    const MPIDI_BUFENLARGE_wire_t wire = {.kind = MPIDI_BUFENLARGE_KIND_RMA_REPLIES,
        .data_bytes = replies->bytes
    };
    if (replies->bytes == 0)
        return;
    replies->message.wire = wire;
    MPIDI_BUFENLARGE_rma_send(replies->vci, replies->peer, &replies->message, sizeof(wire) + replies->bytes);
    replies->bytes = 0;
}

static void reply_add(replies_t * replies, uint32_t id, const void *data, uint32_t bytes)
{
    const MPIDI_BUFENLARGE_reply_t reply = {.id = id,.bytes = bytes };
    const size_t needed = sizeof(reply) + MPIDI_BUFENLARGE_PADDED(bytes);
    if (needed > sizeof(replies->message.replies) - replies->bytes)
        replies_send(replies);
    char *at = replies->message.replies + replies->bytes;
    memcpy(at, &reply, sizeof(reply));
    memcpy(at + sizeof(reply), data, bytes);
    replies->bytes += needed;
}

/* Finds the operation's place in the window's memory; NULL when it does not lie in it. */
static char *find_place(uint64_t win_id, const MPIDI_BUFENLARGE_record_t * record)
{
    MPIR_Win *win = MPIDIU_map_lookup(MPIDI_global.win_map, win_id);
    if (win == MPIDIU_MAP_NOT_FOUND || MPIDI_BUFENLARGE_WINDOW(win) == NULL)
        return NULL;
    const uint64_t size = (uint64_t) win->size;
    if (record->offset > size || record->bytes > size - record->offset)
        return NULL;
    return (char *) win->base + record->offset;
}

/* Does one operation and moves *data_p behind the record's data. Returns what is wrong with the operation. */
static const char *operate(replies_t * replies, uint64_t win_id, const MPIDI_BUFENLARGE_record_t * record,
                           const char **data_p, size_t * left_p)
{
    if (record->id == MPIDI_BUFENLARGE_FLUSH) {
        reply_add(replies, MPIDI_BUFENLARGE_FLUSH, &record->offset, sizeof(record->offset));
        return NULL;
    }
    char *place = find_place(win_id, record);
    if (unlikely(place == NULL))
        return "it sent a one-sided operation beyond a window";
    if (record->id != MPIDI_BUFENLARGE_PUT) {
        if (record->bytes > MPIDI_BUFENLARGE_BATCH_BYTES - sizeof(MPIDI_BUFENLARGE_reply_t))
            return "it sent a Get of more than a reply holds";
        reply_add(replies, record->id, place, record->bytes);
        return NULL;
    }
    const size_t padded = MPIDI_BUFENLARGE_PADDED(record->bytes);
    if (unlikely(padded > *left_p))
        return "it sent a one-sided operation that is cut off";
    memcpy(place, *data_p, record->bytes);
    *data_p += padded;
    *left_p -= padded;
    return NULL;
}

static const char *take_operations(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer,
                                   uint64_t win_id, const char *data, size_t left)
{
    replies_t replies;
    replies.vci = vci;
    replies.peer = peer;
    replies.bytes = 0;
    while (left > 0) {
        MPIDI_BUFENLARGE_record_t record;
        if (left < sizeof(record))
            return "it sent a one-sided operation that is cut off";
        memcpy(&record, data, sizeof(record));
        data += sizeof(record);
        left -= sizeof(record);
        const char *text = operate(&replies, win_id, &record, &data, &left);
        if (unlikely(text != NULL))
            return text;
    }
    replies_send(&replies);
    return NULL;
}

/* Called for a batch, whole. Returns what is wrong with it. */
const char *MPIDI_BUFENLARGE_operations_arrived(MPIDI_BUFENLARGE_vci_t * vci, uint32_t number,
                                                const MPIDI_BUFENLARGE_wire_t * wire,
                                                const void *am_hdr, const void *data)
{
    MPIDI_BUFENLARGE_peer_t *peer = MPIDI_BUFENLARGE_peer_get(vci, number);
    uint64_t win_id = 0;

    if (peer == NULL)
        return MPIDI_BUFENLARGE_NO_MEMORY;
    if (wire->am_hdr_bytes != sizeof(win_id))
        return "it sent one-sided operations with a wrong header";
    memcpy(&win_id, am_hdr, sizeof(win_id));
    return take_operations(vci, peer, win_id, data, (size_t) wire->data_bytes);
}
