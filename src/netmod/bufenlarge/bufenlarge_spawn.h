/* SPDX-License-Identifier: MIT */
/* bufenlarge_spawn.h: messages between processes that connect, before they have a communicator. */
#ifndef BUFENLARGE_SPAWN_H_INCLUDED
#define BUFENLARGE_SPAWN_H_INCLUDED

#include "bufenlarge_impl.h"

/* bufenlarge_spawn_queue.c */
void MPIDI_BUFENLARGE_spawn_arrived(int tag, const void *data, size_t bytes);
bool MPIDI_BUFENLARGE_spawn_take(int tag, void *buf, size_t bytes);
void MPIDI_BUFENLARGE_spawn_finalize(void);

#endif /* BUFENLARGE_SPAWN_H_INCLUDED */
