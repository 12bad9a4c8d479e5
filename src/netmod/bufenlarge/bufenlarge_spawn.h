/* SPDX-License-Identifier: MIT */
/* bufenlarge_spawn.h: messages between processes that connect, before they have a communicator. */
#ifndef BUFENLARGE_SPAWN_H_INCLUDED
#define BUFENLARGE_SPAWN_H_INCLUDED

#include "bufenlarge_impl.h"

/* bufenlarge_spawn.c */
int MPIDI_BUFENLARGE_number_of_name(const char *name, int bytes, uint32_t * number_p);
int MPIDI_BUFENLARGE_dynamic_sendrecv(MPIDI_BUFENLARGE_place_t remote, MPIR_Comm * peer_comm, int tag,
                                      const void *send_buf, int send_size, void *recv_buf, int recv_size, int timeout);

/* bufenlarge_forget.c */
bool MPIDI_BUFENLARGE_find_place(uint32_t number, int *table_p, int *index_p);
void MPIDI_BUFENLARGE_forget_note(uint32_t number);
void MPIDI_BUFENLARGE_forget_lost(MPIDI_BUFENLARGE_vci_t * vci, const MPIDI_BUFENLARGE_peer_t * peer);
void MPIDI_BUFENLARGE_forget_unused(MPIDI_BUFENLARGE_vci_t * vci);
/* One look at whether a receive waits for a process of another job that it was never connected to. With the first VCI,
 * and its lock. */
void MPIDI_BUFENLARGE_reach_out(MPIDI_BUFENLARGE_vci_t * vci);

/* bufenlarge_peer.c */
void MPIDI_BUFENLARGE_peer_forget(MPIDI_BUFENLARGE_vci_t * vci, uint32_t number);

/* bufenlarge_spawn_queue.c: messages that have come and that no call has asked for, with the first VCI's lock. What is
 * of a certain communicator (KIND_LEADERS) is asked for by that, too. */
typedef struct {
    uint32_t kind;
    int tag;
    uint32_t peer;              /* the sender; MPIDI_BUFENLARGE_ANYBODY asks for anybody's request to connect */
    uint32_t context_id;
} MPIDI_BUFENLARGE_spawn_key_t;

#define MPIDI_BUFENLARGE_ANYBODY UINT32_MAX

MPL_STATIC_INLINE_PREFIX MPIDI_BUFENLARGE_spawn_key_t MPIDI_BUFENLARGE_spawn_key(int tag, uint32_t peer)
{
    return (MPIDI_BUFENLARGE_spawn_key_t) {.kind = MPIDI_BUFENLARGE_KIND_SPAWN,.tag = tag,.peer = peer};
}

void MPIDI_BUFENLARGE_spawn_arrived(const MPIDI_BUFENLARGE_spawn_key_t * key, const void *data, size_t bytes);
/* Takes the oldest message with this key out of the list, with at most `bytes` of its *got_p. Returns false when there
 * is none. */
bool MPIDI_BUFENLARGE_spawn_take(const MPIDI_BUFENLARGE_spawn_key_t * key, void *buf, size_t bytes, size_t * got_p);
/* The process has failed, and its number is about to be forgotten. */
void MPIDI_BUFENLARGE_spawn_forget(uint32_t number);
void MPIDI_BUFENLARGE_spawn_finalize(void);

/* bufenlarge_spawn_queue.c: the data of KIND_LEADERS begins with the context at the receiver. */
bool MPIDI_BUFENLARGE_leaders_send(MPIDI_BUFENLARGE_peer_t * peer, uint32_t context_id, int tag, const void *data,
                                   size_t bytes);
const char *MPIDI_BUFENLARGE_leaders_arrived(uint32_t peer, int tag, const void *data, size_t bytes);

#endif /* BUFENLARGE_SPAWN_H_INCLUDED */
