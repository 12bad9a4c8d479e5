/* SPDX-License-Identifier: MIT */
/* bufenlarge_memory.h: memory whose registrations may stay (bufenlarge_memory.c). */
#ifndef BUFENLARGE_MEMORY_H_INCLUDED
#define BUFENLARGE_MEMORY_H_INCLUDED

#include <stddef.h>

/* From the first call to the second, which names the same beginning, the mapping of this memory stays as it is. To be
 * called without a VCI's lock. */
void MPIDI_BUFENLARGE_memory_keep(void *memory, size_t bytes);
void MPIDI_BUFENLARGE_memory_release(void *memory);

#endif /* BUFENLARGE_MEMORY_H_INCLUDED */
