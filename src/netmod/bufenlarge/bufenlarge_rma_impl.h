/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_rma_impl.h: what one-sided communication keeps of a window and of a peer, and its messages
 * (docs/wire-protocol.md, section 9; docs/decisions/0016-one-sided-writes.md).
 *
 * A batch collects small operations on one window of one peer. It goes as one message when it is full, when the
 * operations have to be complete, or with the next round of progress. Large operations are RDMA writes and reads of
 * window memory. No Put is acknowledged by itself. Puts are numbered per peer; an origin that has to know that all are
 * at the target sends a flush request with the last number behind them, on the same channel, and the target replies.
 *
 *   bufenlarge_rma.h          MPI_Put, MPI_Get and the rest, inline, as MPICH calls them
 *   bufenlarge_window.c       windows: their memory is registered, and all processes tell each other where it is
 *   bufenlarge_rma_origin.c   an operation at its origin: the data path, RDMA writes and reads
 *   bufenlarge_rma_batch.c    small operations at their origin
 *   bufenlarge_rma_get.c      small Gets until their reply has come
 *   bufenlarge_rma_target.c   small operations at their target
 *   bufenlarge_rma_flush.c    waiting until operations are complete
 */
#ifndef BUFENLARGE_RMA_IMPL_H_INCLUDED
#define BUFENLARGE_RMA_IMPL_H_INCLUDED

#include "bufenlarge_impl.h"

/* One operation of a batch. A Put's data follows; records and data begin at multiples of 8 bytes. */
typedef struct {
    uint64_t offset;            /* in the target's part of the window; of a flush request: the number of the last Put */
    uint32_t bytes;
    uint32_t id;
} MPIDI_BUFENLARGE_record_t;

/* One reply, followed by its data in the same way: what a Get asked for, or the number of a flush request. */
typedef struct {
    uint32_t id;
    uint32_t bytes;
} MPIDI_BUFENLARGE_reply_t;

/* Values of `id`; others are the origin's names of its Gets. */
#define MPIDI_BUFENLARGE_PUT 0u
#define MPIDI_BUFENLARGE_FLUSH UINT32_MAX

/* A batch is what a slot of 8,192 bytes holds; those of the second phase are a little longer. */
#define MPIDI_BUFENLARGE_BATCH_BYTES 8144

typedef struct {
    MPIDI_BUFENLARGE_wire_t wire;
    uint64_t win_id;
    char records[MPIDI_BUFENLARGE_BATCH_BYTES];
} MPIDI_BUFENLARGE_batch_t;

typedef struct {
    MPIDI_BUFENLARGE_wire_t wire;
    char replies[MPIDI_BUFENLARGE_BATCH_BYTES];
} MPIDI_BUFENLARGE_replies_t;

#define MPIDI_BUFENLARGE_PADDED(bytes) (((size_t) (bytes) + 7) & ~(size_t) 7)

/* Small operations that wait in backlogs are copies, and each message with them counts. When a process has more than
 * COPIES_MAX bytes of them, MPI_Put and MPI_Get wait until their target has COPIES_OF_ONE at most, or the process has
 * less: so a target that makes no progress keeps those for others waiting as little as it can. */
#define MPIDI_BUFENLARGE_COPIES_MAX ((size_t) 4 << 20)
#define MPIDI_BUFENLARGE_COPIES_OF_ONE ((size_t) 64 << 10)

/* What is kept of a peer once there was an operation on it. */
typedef struct MPIDI_BUFENLARGE_rma {
    struct MPIDI_BUFENLARGE_rma *next, *prev;   /* in vci->batches, while the batch is not empty */
    MPIDI_BUFENLARGE_peer_t *peer;
    uint64_t issued;            /* number of the last Put to it, from 1 */
    uint64_t written;           /* number of the last Put that is an RDMA write */
    uint64_t flush_requested;   /* number in the last flush request */
    uint64_t flushed;           /* Puts up to this number are in the peer's memory */
    size_t copied;              /* bytes of messages with small operations in its backlog */
    size_t bytes;               /* of the batch's records */
    size_t reply_bytes;         /* of the replies to it */
    MPIDI_BUFENLARGE_batch_t batch;
} MPIDI_BUFENLARGE_rma_t;

/* One process's part of a window, as all processes know it. */
typedef struct {
    bufenlarge_window_t memory; /* source 0: not registered */
    uint64_t bytes;
    int64_t disp_unit;
} MPIDI_BUFENLARGE_win_part_t;

/* The own operations on a part that are not complete. */
typedef struct {
    uint64_t last_put;          /* its number */
    uint32_t writes;            /* whose data the device still reads */
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

/* Returns the VCI of the window's active messages: everything of a window goes in order. */
MPL_STATIC_INLINE_PREFIX MPIDI_BUFENLARGE_vci_t *MPIDI_BUFENLARGE_window_vci(const MPIR_Win * win)
{
    return MPIDI_BUFENLARGE_vci(MPIDI_WIN(win, am_vci));
}

/* Notes that there is something pending on a part of the window. */
MPL_STATIC_INLINE_PREFIX void MPIDI_BUFENLARGE_pending_list(MPIDI_BUFENLARGE_window_t * window, int target)
{
    if (window->pending[target].listed)
        return;
    window->pending[target].listed = true;
    window->listed[window->listed_count++] = target;
}

/* Notes that a message with small operations, which the bound counts, has left the backlog or goes there. */
MPL_STATIC_INLINE_PREFIX void MPIDI_BUFENLARGE_rma_went(MPIDI_BUFENLARGE_vci_t * vci,
                                                        MPIDI_BUFENLARGE_rma_t * rma, size_t bytes)
{
    vci->copied -= bytes;
    rma->copied -= bytes;
}

MPL_STATIC_INLINE_PREFIX void MPIDI_BUFENLARGE_rma_waits(MPIDI_BUFENLARGE_vci_t * vci,
                                                         MPIDI_BUFENLARGE_rma_t * rma, size_t bytes)
{
    vci->copied += bytes;
    rma->copied += bytes;
}

/* An operation that need not go as an active message of MPIDIG. */
typedef struct {
    MPIDI_BUFENLARGE_window_t *window;
    MPIDI_BUFENLARGE_peer_t *peer;
    int target;                 /* rank in the window's communicator */
    void *addr;                 /* at the origin */
    size_t bytes;
    uint64_t offset;            /* in the target's part */
} MPIDI_BUFENLARGE_operation_t;

/* bufenlarge_rma_batch.c */
MPIDI_BUFENLARGE_rma_t *MPIDI_BUFENLARGE_rma_of(MPIDI_BUFENLARGE_peer_t * peer);
void MPIDI_BUFENLARGE_rma_send(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer,
                               const void *message, size_t bytes);
size_t MPIDI_BUFENLARGE_batch_seal(MPIDI_BUFENLARGE_rma_t * rma);
void MPIDI_BUFENLARGE_batch_clear(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_rma_t * rma);
void MPIDI_BUFENLARGE_batch_send(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_rma_t * rma);
void MPIDI_BUFENLARGE_batches_send(MPIDI_BUFENLARGE_vci_t * vci);
MPIDI_BUFENLARGE_rma_t *MPIDI_BUFENLARGE_batch_room(MPIDI_BUFENLARGE_vci_t * vci,
                                                    const MPIDI_BUFENLARGE_operation_t * operation,
                                                    size_t data_bytes, size_t reply_bytes);
char *MPIDI_BUFENLARGE_batch_append(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_rma_t * rma,
                                    uint64_t offset, size_t bytes, uint32_t id, size_t data_bytes);
bool MPIDI_BUFENLARGE_put_copy(const MPIDI_BUFENLARGE_operation_t * operation);
void MPIDI_BUFENLARGE_note_write(const MPIDI_BUFENLARGE_operation_t * operation);

/* bufenlarge_rma_get.c */
bool MPIDI_BUFENLARGE_get_copy(const MPIDI_BUFENLARGE_operation_t * operation, MPIR_Request * request);
const char *MPIDI_BUFENLARGE_replies_arrived(MPIDI_BUFENLARGE_vci_t * vci, uint32_t peer,
                                             const MPIDI_BUFENLARGE_wire_t * wire,
                                             const void *am_hdr, const void *data);
void MPIDI_BUFENLARGE_rma_fail(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer);

/* bufenlarge_rma_origin.c */
bool MPIDI_BUFENLARGE_put(const void *origin_addr, MPI_Aint origin_count, MPI_Datatype origin_datatype,
                          int target_rank, MPI_Aint target_disp, MPI_Aint target_count,
                          MPI_Datatype target_datatype, MPIR_Win * win, MPIR_Request ** request_p);
bool MPIDI_BUFENLARGE_get(void *origin_addr, MPI_Aint origin_count, MPI_Datatype origin_datatype,
                          int target_rank, MPI_Aint target_disp, MPI_Aint target_count,
                          MPI_Datatype target_datatype, MPIR_Win * win, MPIR_Request ** request_p);
void MPIDI_BUFENLARGE_write_done(void *user, uint32_t peer, void *cookie, bufenlarge_status_t status);

/* bufenlarge_window.c */
int MPIDI_BUFENLARGE_window_create(MPIR_Win * win);
void MPIDI_BUFENLARGE_window_free(MPIR_Win * win);

/* bufenlarge_rma_flush.c */
int MPIDI_BUFENLARGE_rma_flush(MPIR_Win * win, int target, bool remote);
void MPIDI_BUFENLARGE_rma_make_room(MPIR_Win * win, int target);

/* bufenlarge_rma_target.c */
const char *MPIDI_BUFENLARGE_operations_arrived(MPIDI_BUFENLARGE_vci_t * vci, uint32_t peer,
                                                const MPIDI_BUFENLARGE_wire_t * wire,
                                                const void *am_hdr, const void *data);

#endif /* BUFENLARGE_RMA_IMPL_H_INCLUDED */
