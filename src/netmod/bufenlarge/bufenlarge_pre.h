/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_pre.h: what this netmod puts into MPICH's own objects. MPICH includes it before most of
 * its own declarations, so this file uses none of them.
 */
#ifndef BUFENLARGE_PRE_H_INCLUDED
#define BUFENLARGE_PRE_H_INCLUDED

#include <stdbool.h>
#include <stdint.h>

/* MPICH's functions for processes that fail call the netmod's (mpich-patches, 0010). */
#define MPIDI_NETMOD_HAS_FT

/* MPICH counts events in shared memory for the netmod, on each VCI (mpich-patches, 0015; since MPICH 4.2). */
#define MPIDI_NETMOD_COUNTS_SHM
extern unsigned MPIDI_BUFENLARGE_shm_events[MPIDI_CH4_MAX_VCIS];

struct MPIR_Comm;
struct MPIR_Group;
struct MPIR_Request;
struct MPIR_Win;

/* Whether the calling thread is in a round of progress, in a process with one thread. */
bool MPIDI_BUFENLARGE_in_progress(void);
/* How many processes are known to have failed; it stays when MPI has ended, until it begins anew. */
extern int MPIDI_BUFENLARGE_failures;
bool MPIDI_BUFENLARGE_has_failed(uint32_t number);
/* Called when the process manager has sent its signal: a process has ended. */
void MPIDI_BUFENLARGE_failure_signal(void);
/* Whether receives from any source of this communicator may wait: all its failed processes are acknowledged. */
bool MPIDI_BUFENLARGE_anysource_enabled(struct MPIR_Comm *comm);
/* MPIX_Comm_agree and MPIX_Comm_shrink. */
int MPIDI_BUFENLARGE_comm_agree(struct MPIR_Comm *comm, int *flag);
int MPIDI_BUFENLARGE_comm_shrink(struct MPIR_Comm *comm, struct MPIR_Comm **shrunk_p);
/* Called while MPICH waits for the synchronization of a window with a rank, or (-1) with a group, or (NULL) with all:
 * the error that ends it, when one of these has failed. */
int MPIDI_BUFENLARGE_window_error(struct MPIR_Win *win, int rank, struct MPIR_Group *group);
/* Called when a collective call on a window, or its creation, has ended with this error; returns the error that
 * the call ends with. */
int MPIDI_BUFENLARGE_window_collective(struct MPIR_Win *win, int mpi_errno);
/* Called while MPICH waits for members of a communicator through shared memory: the error that ends it, when one of
 * them has failed or the communicator is revoked. */
int MPIDI_BUFENLARGE_comm_error(struct MPIR_Comm *comm);

/* Called before members of the communicator wait for a process that they are to be connected with. */
void MPIDI_BUFENLARGE_connects_for(struct MPIR_Comm *comm);

/* Called when processes agree on the context of a communicator, in this one. */
void MPIDI_BUFENLARGE_makes_in(struct MPIR_Comm *parent);
/* Called before MPICH waits for members in a communicator that the program does not have yet, and (false) after that:
 * a revocation of the one in which it is made ends it. */
void MPIDI_BUFENLARGE_set_in_making(struct MPIR_Comm *made, bool in_making);

/* Called before a persistent or partitioned request is started, when it was, and before it is freed. */
void MPIDI_BUFENLARGE_request_starts(struct MPIR_Request *request);
void MPIDI_BUFENLARGE_request_started(struct MPIR_Request *request);
void MPIDI_BUFENLARGE_request_ends(struct MPIR_Request *request);

/* An entry of an address table: the library's number of the process, which is its place in each
 * VCI's table of peers (bufenlarge_peer.c). */
typedef struct {
    uint32_t number;
} MPIDI_BUFENLARGE_addr_t;

struct MPIDI_BUFENLARGE_incoming;
struct MPIDI_BUFENLARGE_consensus;

/* A deferred send owns its state itself (MPIDI_BUFENLARGE_deferred_t), because one request can belong to
 * a send and a receive at the same time. A request has only what a receive needs to find its data when
 * it matches later, and whose unexpected message it is (bufenlarge_unexpected.c). The objects with one
 * unused member exist because MPICH makes a union of each. */
typedef struct {
    struct MPIDI_BUFENLARGE_incoming *incoming;
    uint32_t sender;            /* of an unexpected message with its data: its number + 1; else 0 */
    uint32_t unexpected_kib:24; /* that the message takes here */
    uint32_t held:8;            /* how often the netmod itself will complete the request or call its callback */
    bool persistent;            /* a receive of a persistent request (bufenlarge_persistent.c) */
} MPIDI_BUFENLARGE_am_request_t;
typedef struct {
    int unused;
} MPIDI_BUFENLARGE_request_t;
typedef struct {
    struct MPIDI_BUFENLARGE_consensus *consensus;       /* on failed members; NULL before the first */
    struct MPIR_Comm *next, *prev;      /* in the list of all (bufenlarge_members.c), while `listed` */
    struct MPIR_Comm *repaired; /* of which this one is to have the survivors, while it is made; else NULL */
    uint32_t made_in;           /* context, plus 1, of the one in whose collective call this one is made; else 0 */
    int acknowledged;           /* so many failures, of those that this process knows, were acknowledged */
    bool listed;
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
