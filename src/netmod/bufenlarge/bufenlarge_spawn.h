/* SPDX-License-Identifier: MIT */
/* bufenlarge_spawn.h: messages between processes that connect, before they have a communicator. */
#ifndef BUFENLARGE_SPAWN_H_INCLUDED
#define BUFENLARGE_SPAWN_H_INCLUDED

#include "bufenlarge_impl.h"

/* bufenlarge_forget.c */
bool MPIDI_BUFENLARGE_find_gpid(uint32_t number, uint64_t * gpid);
void MPIDI_BUFENLARGE_forget_note(uint32_t number);
void MPIDI_BUFENLARGE_forget_lost(MPIDI_BUFENLARGE_vci_t * vci, const MPIDI_BUFENLARGE_peer_t * peer);
void MPIDI_BUFENLARGE_forget_unused(MPIDI_BUFENLARGE_vci_t * vci);

/* bufenlarge_peer.c */
void MPIDI_BUFENLARGE_peer_forget(MPIDI_BUFENLARGE_vci_t * vci, uint32_t number);

/* bufenlarge_spawn_queue.c */
void MPIDI_BUFENLARGE_spawn_arrived(int tag, const void *data, size_t bytes);
bool MPIDI_BUFENLARGE_spawn_take(int tag, void *buf, size_t bytes);
void MPIDI_BUFENLARGE_spawn_finalize(void);

#endif /* BUFENLARGE_SPAWN_H_INCLUDED */
