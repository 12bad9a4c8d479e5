/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_pre.h: what this netmod puts into MPICH's own objects. MPICH includes it before most of
 * its own declarations, so this file uses none of them.
 */
#ifndef BUFENLARGE_PRE_H_INCLUDED
#define BUFENLARGE_PRE_H_INCLUDED

#include <stdint.h>

/* An entry of an address table: the library's number of the process, which is its place in each
 * VCI's table of peers (bufenlarge_peer.c). */
typedef struct {
    uint32_t number;
} MPIDI_BUFENLARGE_addr_t;

struct MPIDI_BUFENLARGE_incoming;

/* A deferred send owns its state itself (MPIDI_BUFENLARGE_deferred_t), because one request can belong to
 * a send and a receive at the same time. A request has only what a receive needs to find its data when
 * it matches later, and whose unexpected message it is (bufenlarge_unexpected.c). The objects with one
 * unused member exist because MPICH makes a union of each. */
typedef struct {
    struct MPIDI_BUFENLARGE_incoming *incoming;
    uint32_t sender;            /* of an unexpected message with its data: its number + 1; else 0 */
    uint32_t unexpected_kib;    /* that the message takes here */
} MPIDI_BUFENLARGE_am_request_t;
typedef struct {
    int unused;
} MPIDI_BUFENLARGE_request_t;
typedef struct {
    int unused;
} MPIDI_BUFENLARGE_comm_t;
typedef struct {
    int unused;
} MPIDI_BUFENLARGE_dt_t;
typedef struct {
    int unused;
} MPIDI_BUFENLARGE_op_t;
struct MPIDI_BUFENLARGE_window;

typedef struct {
    struct MPIDI_BUFENLARGE_window *window;     /* NULL: MPIDIG does all of it */
} MPIDI_BUFENLARGE_win_t;
typedef struct {
    int unused;
} MPIDI_BUFENLARGE_part_t;
typedef struct {
    int unused;
} MPIDI_BUFENLARGE_Global_t;

#endif /* BUFENLARGE_PRE_H_INCLUDED */
