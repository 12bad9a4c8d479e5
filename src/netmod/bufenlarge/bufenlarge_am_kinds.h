/* SPDX-License-Identifier: MIT */
/* bufenlarge_am_kinds.h: what a receiver knows of each kind of message (bufenlarge_am_kinds.c). */
#ifndef BUFENLARGE_AM_KINDS_H_INCLUDED
#define BUFENLARGE_AM_KINDS_H_INCLUDED

#include "bufenlarge_members.h"

/* Both functions return what is wrong with the message, NULL when nothing is. */
typedef struct {
    uint64_t data_max;          /* most data that may follow the header; 0: none follows, wire.data_bytes is the
                                 * size of data that stays at the sender */
    const char *(*check) (uint32_t peer, const MPIDI_BUFENLARGE_wire_t * wire, const void *am_hdr);
    const char *(*whole) (MPIDI_BUFENLARGE_vci_t * vci, uint32_t peer, const MPIDI_BUFENLARGE_wire_t * wire,
                          const void *am_hdr, const void *data);
    bool streams;               /* the data of a message in fragments may go to the user as it comes */
} MPIDI_BUFENLARGE_am_kind_t;

extern const MPIDI_BUFENLARGE_am_kind_t MPIDI_BUFENLARGE_am_kinds[MPIDI_BUFENLARGE_KIND_COUNT];

/* Returns NULL for a kind that there is not. */
MPL_STATIC_INLINE_PREFIX const MPIDI_BUFENLARGE_am_kind_t *MPIDI_BUFENLARGE_am_kind(
    const MPIDI_BUFENLARGE_wire_t * wire)
{
    if (unlikely(wire->kind >= MPIDI_BUFENLARGE_KIND_COUNT))
        return NULL;
    const MPIDI_BUFENLARGE_am_kind_t *kind = &MPIDI_BUFENLARGE_am_kinds[wire->kind];
    return kind->whole != NULL ? kind : NULL;
}

MPL_STATIC_INLINE_PREFIX uint64_t MPIDI_BUFENLARGE_data_following(const MPIDI_BUFENLARGE_am_kind_t * kind,
                                                                  const MPIDI_BUFENLARGE_wire_t * wire)
{
    return kind->data_max > 0 ? wire->data_bytes : 0;
}

/* Checks a header that is here as a whole. Returns what is wrong with it, NULL when nothing is. */
MPL_STATIC_INLINE_PREFIX const char *MPIDI_BUFENLARGE_check_header(const MPIDI_BUFENLARGE_am_kind_t * kind,
                                                                   uint32_t peer,
                                                                   const MPIDI_BUFENLARGE_wire_t * wire,
                                                                   const void *am_hdr)
{
    if (MPIDI_BUFENLARGE_data_following(kind, wire) > kind->data_max)
        return MPIDI_BUFENLARGE_CONTRADICTION;
    const char *text = kind->check ? kind->check(peer, wire, am_hdr) : NULL;
    return text == NULL && unlikely(MPIDI_BUFENLARGE_is_other_job(peer)) ?
        MPIDI_BUFENLARGE_check_other_job(peer, wire, am_hdr) : text;
}

#endif /* BUFENLARGE_AM_KINDS_H_INCLUDED */
