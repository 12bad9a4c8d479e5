/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_rma_impl.h: what one-sided communication keeps of a window and of a peer, and its messages
 * (docs/wire-protocol.md, section 9; docs/decisions/0016-one-sided-writes.md).
 *
 * Small operations on one window of one peer are collected in a batch, and go as one message when it is full, when
 * they have to be complete, or with the next round of progress. Large ones are RDMA writes and remote reads. None of
 * the Puts is acknowledged by itself: they are numbered per peer, and who has to know that all is at the target asks
 * for the last number behind them, on the same channel.
 */
#ifndef BUFENLARGE_RMA_IMPL_H_INCLUDED
#define BUFENLARGE_RMA_IMPL_H_INCLUDED

#include "bufenlarge_impl.h"

/* One operation of a batch. A Put's data follows; records and data begin at multiples of 8 bytes. */
typedef struct {
    uint64_t offset;            /* in the target's part of the window; of ASK: the number asked for */
    uint32_t bytes;
    uint32_t id;
} MPIDI_BUFENLARGE_record_t;

/* One answer, followed by its data in the same way: what was asked to be got, or the number. */
typedef struct {
    uint32_t id;
    uint32_t bytes;
} MPIDI_BUFENLARGE_answer_t;

/* Values of `id`; others are the origin's names of its Gets. */
#define MPIDI_BUFENLARGE_PUT 0u
#define MPIDI_BUFENLARGE_ASK UINT32_MAX

/* A batch is what a slot of 8,192 bytes holds; those of the second phase are a little longer. */
#define MPIDI_BUFENLARGE_BATCH_BYTES 8144

typedef struct {
    MPIDI_BUFENLARGE_wire_t wire;
    uint64_t win_id;
    char records[MPIDI_BUFENLARGE_BATCH_BYTES];
} MPIDI_BUFENLARGE_batch_t;

typedef struct {
    MPIDI_BUFENLARGE_wire_t wire;
    char answers[MPIDI_BUFENLARGE_BATCH_BYTES];
} MPIDI_BUFENLARGE_answers_t;

#define MPIDI_BUFENLARGE_PADDED(bytes) (((size_t) (bytes) + 7) & ~(size_t) 7)

/* A peer to which there were operations. */
typedef struct MPIDI_BUFENLARGE_oneside {
    struct MPIDI_BUFENLARGE_oneside *next, *prev;       /* in vci->held, while the batch is not empty */
    MPIDI_BUFENLARGE_peer_t *peer;
    uint64_t issued;            /* number of the last Put to it, from 1 */
    uint64_t written;           /* of the last one that is an RDMA write */
    uint64_t asked;             /* the last number the peer was asked for */
    uint64_t settled;           /* up to this one all are in its memory */
    size_t bytes;               /* of the batch's records */
    size_t answer_bytes;        /* of the answers to it */
    MPIDI_BUFENLARGE_batch_t batch;
} MPIDI_BUFENLARGE_oneside_t;

/* One process's part of a window, as all know it. */
typedef struct {
    bufenlarge_window_t shared; /* exposure 0: nothing is */
    uint64_t bytes;             /* that are shared */
    int64_t disp_unit;
} MPIDI_BUFENLARGE_win_part_t;

/* What is not complete of the own operations on it. */
typedef struct {
    uint64_t mark;              /* of the last Put to it */
    uint32_t writes;            /* whose source is still read */
    uint32_t gets;
    bool listed;                /* in the window's list */
} MPIDI_BUFENLARGE_pending_t;

typedef struct MPIDI_BUFENLARGE_window {
    MPIR_Win *win;
    MPIDI_BUFENLARGE_win_part_t *parts;     /* by rank in the window's communicator, as the next two */
    MPIDI_BUFENLARGE_pending_t *pending;
    int *listed;                /* ranks with something pending */
    int listed_count;
} MPIDI_BUFENLARGE_window_t;

#define MPIDI_BUFENLARGE_WINDOW(win) (MPIDI_WIN(win, netmod.bufenlarge).window)

/* That of its active messages, so that nothing of a window overtakes the rest. */
MPL_STATIC_INLINE_PREFIX MPIDI_BUFENLARGE_vci_t *MPIDI_BUFENLARGE_window_vci(const MPIR_Win * win)
{
    return MPIDI_BUFENLARGE_vci(MPIDI_WIN(win, am_vci));
}

/* An operation that need not go as an active message. */
typedef struct {
    MPIDI_BUFENLARGE_window_t *window;
    MPIDI_BUFENLARGE_peer_t *peer;
    int target;                 /* rank in the window's communicator */
    void *addr;                 /* at the origin */
    size_t bytes;
    uint64_t offset;            /* in the target's part */
} MPIDI_BUFENLARGE_operation_t;

/* bufenlarge_rma_batch.c */
MPIDI_BUFENLARGE_oneside_t *MPIDI_BUFENLARGE_oneside_of(MPIDI_BUFENLARGE_peer_t * peer);
size_t MPIDI_BUFENLARGE_batch_seal(MPIDI_BUFENLARGE_oneside_t * one);
void MPIDI_BUFENLARGE_batch_clear(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_oneside_t * one);
void MPIDI_BUFENLARGE_batch_push(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_oneside_t * one);
char *MPIDI_BUFENLARGE_batch_append(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_oneside_t * one,
                                    uint64_t offset, size_t bytes, uint32_t id, size_t data_bytes);
void MPIDI_BUFENLARGE_pending_list(MPIDI_BUFENLARGE_window_t * window, int target);
bool MPIDI_BUFENLARGE_put_copy(const MPIDI_BUFENLARGE_operation_t * operation);
bool MPIDI_BUFENLARGE_batch_get(const MPIDI_BUFENLARGE_operation_t * operation,
                                MPIR_Request * request);
void MPIDI_BUFENLARGE_note_write(const MPIDI_BUFENLARGE_operation_t * operation);
const char *MPIDI_BUFENLARGE_got(MPIDI_BUFENLARGE_vci_t * vci, uint32_t rank, uint32_t id,
                                 const void *data, uint32_t bytes);
void MPIDI_BUFENLARGE_post(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer,
                           const void *message, size_t bytes);
void MPIDI_BUFENLARGE_oneside_push(MPIDI_BUFENLARGE_vci_t * vci);
void MPIDI_BUFENLARGE_oneside_fail(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer);

/* bufenlarge_window.c */
int MPIDI_BUFENLARGE_window_open(MPIR_Win * win);
void MPIDI_BUFENLARGE_window_close(MPIR_Win * win);
bool MPIDI_BUFENLARGE_put(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                          int target_rank, MPI_Aint target_disp, int target_count,
                          MPI_Datatype target_datatype, MPIR_Win * win, MPIR_Request ** request_p);
bool MPIDI_BUFENLARGE_get(void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                          int target_rank, MPI_Aint target_disp, int target_count,
                          MPI_Datatype target_datatype, MPIR_Win * win, MPIR_Request ** request_p);
void MPIDI_BUFENLARGE_written(void *user, uint32_t peer, void *cookie, bufenlarge_status_t status);

/* bufenlarge_rma_flush.c */
int MPIDI_BUFENLARGE_settle(MPIR_Win * win, int target, bool remote);

/* bufenlarge_rma_target.c */
const char *MPIDI_BUFENLARGE_oneside_arrived(MPIDI_BUFENLARGE_vci_t * vci, uint32_t rank,
                                             const MPIDI_BUFENLARGE_wire_t * wire,
                                             const void *am_hdr, const void *data);

#endif /* BUFENLARGE_RMA_IMPL_H_INCLUDED */
