/* SPDX-License-Identifier: MIT */
/* bufenlarge_spawn_queue.c: messages between processes that connect, from their arrival until a call asks for them. */
#include "mpidimpl.h"
#include "bufenlarge_failure.h"
#include "bufenlarge_spawn.h"
#include "utlist.h"

typedef struct arrived {
    struct arrived *next, *prev;
    MPIDI_BUFENLARGE_spawn_key_t key;
    size_t bytes;
    char data[];
} arrived_t;

/* In order of arrival; the lock of VCI 0 guards it. */
static arrived_t *arrived_list;

/* Keeps a copy of the message. Without memory for it the message is lost, and the call that asks for it ends when its
 * time is over. */
void MPIDI_BUFENLARGE_spawn_arrived(const MPIDI_BUFENLARGE_spawn_key_t * key, const void *data, size_t bytes)
{
    arrived_t *arrived = MPL_malloc(sizeof(*arrived) + bytes, MPL_MEM_BUFFER);
    if (arrived == NULL)
        return;
    arrived->key = *key;
    arrived->bytes = bytes;
    if (bytes > 0)
        memcpy(arrived->data, data, bytes);
    DL_APPEND(arrived_list, arrived);
}

static void discard(arrived_t * arrived)
{
    DL_DELETE(arrived_list, arrived);
    MPL_free(arrived);
}

void MPIDI_BUFENLARGE_spawn_finalize(void)
{
    while (arrived_list)
        discard(arrived_list);
}

void MPIDI_BUFENLARGE_spawn_forget(uint32_t number)
{
    arrived_t *arrived, *after;
    DL_FOREACH_SAFE(arrived_list, arrived, after) {
        if (arrived->key.peer == number)
            discard(arrived);
    }
}

/* A request to connect has the name of its sender, an answer has not. */
static bool is_request(const arrived_t * arrived)
{
    return arrived->key.kind == MPIDI_BUFENLARGE_KIND_SPAWN && arrived->bytes > BUFENLARGE_NAME_BYTES;
}

static bool is_asked_for(const arrived_t * arrived, const MPIDI_BUFENLARGE_spawn_key_t * key)
{
    const MPIDI_BUFENLARGE_spawn_key_t *own = &arrived->key;
    if (own->kind != key->kind || own->tag != key->tag || own->context_id != key->context_id)
        return false;
    return key->peer == MPIDI_BUFENLARGE_ANYBODY ? is_request(arrived) : own->peer == key->peer && !is_request(arrived);
}

bool MPIDI_BUFENLARGE_spawn_take(const MPIDI_BUFENLARGE_spawn_key_t * key, void *buf, size_t bytes, size_t * got_p)
{
    arrived_t *arrived, *after;
    DL_FOREACH_SAFE(arrived_list, arrived, after) {
        if (!is_asked_for(arrived, key))
            continue;
        if (is_request(arrived) && MPIDI_BUFENLARGE_has_failed(arrived->key.peer)) {
            discard(arrived);
        } else {
            *got_p = arrived->bytes;
            memcpy(buf, arrived->data, MPL_MIN(bytes, arrived->bytes));
            discard(arrived);
            return true;
        }
    }
    return false;
}

/* -- the leaders of two groups -- */

bool MPIDI_BUFENLARGE_leaders_send(MPIDI_BUFENLARGE_peer_t * peer, uint32_t context_id, int tag, const void *data,
                                   size_t bytes)
{
    char *message = MPL_malloc(sizeof(context_id) + bytes, MPL_MEM_BUFFER);
    if (message == NULL)
        return false;
    memcpy(message, &context_id, sizeof(context_id));
    memcpy(message + sizeof(context_id), data, bytes);
    const bool sent = MPIDI_BUFENLARGE_send_control(peer, MPIDI_BUFENLARGE_KIND_LEADERS, (uint32_t) tag, message,
                                                    sizeof(context_id) + bytes);
    MPL_free(message);
    return sent;
}

/* Returns what is wrong with the message, NULL when nothing is. */
const char *MPIDI_BUFENLARGE_leaders_arrived(uint32_t peer, int tag, const void *data, size_t bytes)
{
    MPIDI_BUFENLARGE_spawn_key_t key = {.kind = MPIDI_BUFENLARGE_KIND_LEADERS,.tag = tag,.peer = peer };
    if (bytes < sizeof(key.context_id))
        return MPIDI_BUFENLARGE_CONTRADICTION;
    memcpy(&key.context_id, data, sizeof(key.context_id));
    MPIDI_BUFENLARGE_spawn_arrived(&key, (const char *) data + sizeof(key.context_id), bytes - sizeof(key.context_id));
    return NULL;
}
