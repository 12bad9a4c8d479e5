/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_rma_target.c: one-sided operations at their target, and the answers at their origin. Nothing here is
 * taken on trust: a record that goes beyond its message or the window ends the connection.
 */
#include "mpidimpl.h"
#include "bufenlarge_rma_impl.h"

typedef struct {
    MPIDI_BUFENLARGE_vci_t *vci;
    MPIDI_BUFENLARGE_peer_t *peer;
    size_t bytes;
    MPIDI_BUFENLARGE_answers_t message;
} reply_t;

static void reply_send(reply_t * reply)
{
    const MPIDI_BUFENLARGE_wire_t wire = {.kind = MPIDI_BUFENLARGE_KIND_ANSWERS,
        .data_bytes = reply->bytes
    };
    if (reply->bytes == 0)
        return;
    reply->message.wire = wire;
    MPIDI_BUFENLARGE_post(reply->vci, reply->peer, &reply->message, sizeof(wire) + reply->bytes);
    reply->bytes = 0;
}

static void reply_add(reply_t * reply, uint32_t id, const void *data, uint32_t bytes)
{
    const MPIDI_BUFENLARGE_answer_t answer = {.id = id,.bytes = bytes };
    const size_t needed = sizeof(answer) + MPIDI_BUFENLARGE_PADDED(bytes);
    if (needed > sizeof(reply->message.answers) - reply->bytes)
        reply_send(reply);
    char *at = reply->message.answers + reply->bytes;
    memcpy(at, &answer, sizeof(answer));
    memcpy(at + sizeof(answer), data, bytes);
    reply->bytes += needed;
}

/* The window's memory; NULL: the operation does not lie in it. */
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

/* Returns what is wrong. *data_p is moved behind the record's data. */
static const char *operate(reply_t * reply, uint64_t win_id, const MPIDI_BUFENLARGE_record_t * record,
                           const char **data_p, size_t * left_p)
{
    if (record->id == MPIDI_BUFENLARGE_ASK) {
        reply_add(reply, MPIDI_BUFENLARGE_ASK, &record->offset, sizeof(record->offset));
        return NULL;
    }
    char *place = find_place(win_id, record);
    if (unlikely(place == NULL))
        return "it sent a one-sided operation beyond a window";
    if (record->id != MPIDI_BUFENLARGE_PUT) {
        if (record->bytes > MPIDI_BUFENLARGE_BATCH_BYTES - sizeof(MPIDI_BUFENLARGE_answer_t))
            return "it asked for more than an answer holds";
        reply_add(reply, record->id, place, record->bytes);
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
    reply_t reply;
    reply.vci = vci;
    reply.peer = peer;
    reply.bytes = 0;
    while (left > 0) {
        MPIDI_BUFENLARGE_record_t record;
        if (left < sizeof(record))
            return "it sent a one-sided operation that is cut off";
        memcpy(&record, data, sizeof(record));
        data += sizeof(record);
        left -= sizeof(record);
        const char *text = operate(&reply, win_id, &record, &data, &left);
        if (unlikely(text != NULL))
            return text;
    }
    reply_send(&reply);
    return NULL;
}

static const char *take_settled(MPIDI_BUFENLARGE_oneside_t * one, const void *data, uint32_t bytes)
{
    uint64_t number = 0;
    if (bytes == sizeof(number))
        memcpy(&number, data, sizeof(number));
    if (one == NULL || number <= one->settled || number > one->asked)
        return "it told of Puts that it was not asked for";
    one->settled = number;
    return NULL;
}

static const char *take_answers(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer,
                                const char *data, size_t left)
{
    while (left > 0) {
        MPIDI_BUFENLARGE_answer_t answer;
        if (left < sizeof(answer))
            return "it sent an answer that is cut off";
        memcpy(&answer, data, sizeof(answer));
        const size_t all = sizeof(answer) + MPIDI_BUFENLARGE_PADDED(answer.bytes);
        if (all > left || answer.id == MPIDI_BUFENLARGE_PUT)
            return "it sent an answer that is cut off";
        const char *text = answer.id == MPIDI_BUFENLARGE_ASK
            ? take_settled(peer->oneside, data + sizeof(answer), answer.bytes)
            : MPIDI_BUFENLARGE_got(vci, peer->number, answer.id, data + sizeof(answer), answer.bytes);
        if (unlikely(text != NULL))
            return text;
        data += all;
        left -= all;
    }
    return NULL;
}

/* A batch or its answers, whole. Returns what is wrong. */
const char *MPIDI_BUFENLARGE_oneside_arrived(MPIDI_BUFENLARGE_vci_t * vci, uint32_t rank,
                                             const MPIDI_BUFENLARGE_wire_t * wire,
                                             const void *am_hdr, const void *data)
{
    MPIDI_BUFENLARGE_peer_t *peer = MPIDI_BUFENLARGE_peer_get(vci, rank);
    const bool operations = wire->kind == MPIDI_BUFENLARGE_KIND_OPERATIONS;
    uint64_t win_id = 0;

    if (peer == NULL)
        return "no memory for a message it sent";
    if (wire->am_hdr_bytes != (operations ? sizeof(win_id) : 0))
        return "it sent one-sided operations with a wrong header";
    memcpy(&win_id, am_hdr, wire->am_hdr_bytes);
    return operations ? take_operations(vci, peer, win_id, data, (size_t) wire->data_bytes)
        : take_answers(vci, peer, data, (size_t) wire->data_bytes);
}
