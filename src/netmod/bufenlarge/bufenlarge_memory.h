/* SPDX-License-Identifier: MIT */
/* bufenlarge_memory.h: memory whose registrations may stay (bufenlarge_memory.c). */
#ifndef BUFENLARGE_MEMORY_H_INCLUDED
#define BUFENLARGE_MEMORY_H_INCLUDED

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From the first call to the second, which has the same arguments, the registrations of this memory may stay:
 * bufenlarge_context_keep_memory() has the flags. To be called without a VCI's lock. */
void MPIDI_BUFENLARGE_memory_keep(void *memory, size_t bytes, unsigned flags);
void MPIDI_BUFENLARGE_memory_release(void *memory, size_t bytes, unsigned flags);

/* BUFENLARGE_PERSISTENT when a message that goes now, or is received now, is one of a persistent or partitioned
 * request whose memory is kept, by the address that MPI was given and by its handler; else 0. */
unsigned MPIDI_BUFENLARGE_persistence(const void *buffer, bool contig, uint64_t bytes, int handler_id);
/* Called when MPI ends: the program has left requests. */
void MPIDI_BUFENLARGE_persistent_free(void);

#endif /* BUFENLARGE_MEMORY_H_INCLUDED */
