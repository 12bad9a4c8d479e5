/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_wire.h: how the netmod's messages begin (docs/wire-protocol.md, section 9). Both sides have the same byte
 * order, as everywhere in MPIDIG.
 */
#ifndef BUFENLARGE_WIRE_H_INCLUDED
#define BUFENLARGE_WIRE_H_INCLUDED

#include <mpidimpl.h>

/* Longest am_hdr. MPIDIG needs 72 for its fixed headers; the rest lets the description of a derived
 * datatype travel with a Put or Accumulate instead of ahead of it, in two more messages. */
#define MPIDI_BUFENLARGE_AM_HDR_MAX 1024

/* What may be wrong with a message, as the error about its sender says it. */
#define MPIDI_BUFENLARGE_CONTRADICTION "it sent a message whose sizes contradict each other"
#define MPIDI_BUFENLARGE_UNKNOWN_KIND "it sent a message of unknown kind"
#define MPIDI_BUFENLARGE_NO_MEMORY "no memory for a message it sent"

/* bufenlarge_am_kinds.c has what a receiver does with each kind. */
typedef enum {
    MPIDI_BUFENLARGE_KIND_AM = 1,       /* an active message of MPIDIG */
    MPIDI_BUFENLARGE_KIND_REPORT = 2,   /* what processes report, to the parent in a tree, in MPI_Finalize */
    MPIDI_BUFENLARGE_KIND_EAGER = 3,    /* an eager MPIDIG_SEND */
    MPIDI_BUFENLARGE_KIND_RENDEZVOUS = 4,       /* an active message whose data the receiver reads */
    MPIDI_BUFENLARGE_KIND_RMA_OPERATIONS = 5,   /* small one-sided operations, and flush requests */
    MPIDI_BUFENLARGE_KIND_RMA_REPLIES = 6,      /* the replies to these */
    MPIDI_BUFENLARGE_KIND_SPAWN = 7,    /* between processes without a common communicator */
    MPIDI_BUFENLARGE_KIND_DISCONNECT = 8,       /* between processes of two jobs, in MPI_Finalize */
    MPIDI_BUFENLARGE_KIND_EAGER_LIMIT = 9,      /* whether its receiver may be sent eager data */
    MPIDI_BUFENLARGE_KIND_REVOKE = 10,  /* a communicator was revoked */
    MPIDI_BUFENLARGE_KIND_CONSENSUS = 11,       /* which members of a communicator have failed */
    MPIDI_BUFENLARGE_KIND_LEADERS = 12, /* between the leaders of two groups that make an intercommunicator */
    MPIDI_BUFENLARGE_KIND_COUNT
} MPIDI_BUFENLARGE_kind_t;

/* Begins every message but an eager one. Its 16 bytes keep am_hdr aligned, in which MPIDIG has pointers. */
typedef struct {
    uint8_t kind;
    uint8_t handler_id;
    uint16_t am_hdr_bytes;
    uint32_t detail;            /* KIND_RENDEZVOUS: the source handle; KIND_SPAWN, KIND_LEADERS: the tag;
                                 * KIND_DISCONNECT: 0 for a request, 1 for a reply;
                                 * KIND_EAGER_LIMIT: 1 for no, 0 for yes;
                                 * KIND_REVOKE, KIND_CONSENSUS: the communicator's context at the receiver;
                                 * else 0 */
    uint64_t data_bytes;        /* KIND_RENDEZVOUS: size of the source, which does not follow */
} MPIDI_BUFENLARGE_wire_t;

/* Begins an eager message: those parts of MPIDIG_hdr_t that differ between such messages. With 8 bytes of data and the
 * trailer of its slot it takes 48 bytes, which an entry of a send queue has room for
 * (docs/decisions/0009-queue-sizes.md). It is as long as MPIDI_BUFENLARGE_wire_t, with `kind` at the same place. */
typedef struct {
    uint8_t kind;               /* MPIDI_BUFENLARGE_KIND_EAGER */
    uint8_t error_bits;         /* MPI_SUCCESS, MPI_ERR_OTHER or MPIX_ERR_PROC_FAILED */
    uint16_t context_id;
    uint32_t data_bytes;
    int32_t src_rank;
    int32_t tag;
} MPIDI_BUFENLARGE_eager_t;

MPL_static_assert(sizeof(MPIDI_BUFENLARGE_eager_t) == sizeof(MPIDI_BUFENLARGE_wire_t),
                  "a receiver collects either before it knows which it is");

typedef struct {
    MPIDI_BUFENLARGE_wire_t wire;
    char am_hdr[MPIDI_BUFENLARGE_AM_HDR_MAX];
} MPIDI_BUFENLARGE_header_t;

/* Fills in the header of an active message. Returns how many bytes of *header are in use. */
MPL_STATIC_INLINE_PREFIX size_t MPIDI_BUFENLARGE_header_fill(MPIDI_BUFENLARGE_header_t * header,
                                                             int handler_id, const void *am_hdr,
                                                             MPI_Aint am_hdr_sz, size_t data_bytes)
{
    MPIR_Assert(am_hdr_sz <= MPIDI_BUFENLARGE_AM_HDR_MAX);
    header->wire.kind = MPIDI_BUFENLARGE_KIND_AM;
    header->wire.handler_id = (uint8_t) handler_id;
    header->wire.am_hdr_bytes = (uint16_t) am_hdr_sz;
    header->wire.detail = 0;
    header->wire.data_bytes = data_bytes;
    MPIR_Memcpy(header->am_hdr, am_hdr, am_hdr_sz);
    return sizeof(header->wire) + (size_t) am_hdr_sz;
}

#endif /* BUFENLARGE_WIRE_H_INCLUDED */
