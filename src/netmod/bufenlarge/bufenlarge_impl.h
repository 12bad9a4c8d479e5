/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_impl.h: the state of the netmod, and what its files offer each other.
 *
 * A message of the netmod is one message of libbufenlarge: the wire header below, the active
 * message's own header (am_hdr), and the data. The library is handed the first two as one element
 * and the data as another, since it decides per element whether the channel has to grow. An eager
 * MPIDIG_SEND has a header of its own (MPIDI_BUFENLARGE_eager_t) in place of the first two.
 *
 *   sending    MPIDI_NM_am_*, MPIDI_NM_mpi_isend -> library, at once, when the peer has no backlog
 *              else, and for what the library did not take -> its backlog -> progress
 *   receiving  library -> MPIDI_BUFENLARGE_deliver -> MPIDIG_global.target_msg_cbs
 *
 * Large data stays where it is: the sender exposes it, the message is the headers with the exposure's
 * name, and the receiver reads it (bufenlarge_rendezvous_send.c).
 */
#ifndef BUFENLARGE_IMPL_H_INCLUDED
#define BUFENLARGE_IMPL_H_INCLUDED

#include <mpidimpl.h>
#include "mpidch4r.h"
#include "ch4_impl.h"
#include <bufenlarge.h>

/* Longest am_hdr. MPIDIG needs 72 for its fixed headers; what is above lets the description of a
 * derived datatype travel with a Put or Accumulate instead of ahead of it, in two more messages. */
#define MPIDI_BUFENLARGE_AM_HDR_MAX 1024

/* Largest MPIDIG_SEND that goes without asking. Above it MPIDIG asks first (RTS, CTS), so that the
 * data is received into the user's buffer and not into an unexpected one of the same size. */
#define MPIDI_BUFENLARGE_EAGER_MAX 65536

/* How much noncontiguous data is packed or unpacked at a time: large enough that finding the place
 * again in the datatype costs little beside the copying. */
#define MPIDI_BUFENLARGE_PACK_BYTES 65536

typedef enum {
    MPIDI_BUFENLARGE_KIND_AM = 1,     /* an active message of MPIDIG */
    MPIDI_BUFENLARGE_KIND_SUMMARY = 2, /* one process's report, to rank 0, in MPI_Finalize */
    MPIDI_BUFENLARGE_KIND_EAGER = 3,  /* an eager MPIDIG_SEND */
    MPIDI_BUFENLARGE_KIND_LARGE = 4,  /* an active message whose data is to be read */
    MPIDI_BUFENLARGE_KIND_RMA_OPERATIONS = 5,       /* small one-sided operations, and questions after Puts */
    MPIDI_BUFENLARGE_KIND_RMA_REPLIES = 6,  /* to these */
    MPIDI_BUFENLARGE_KIND_DYNAMIC = 7, /* between processes without a common communicator */
    MPIDI_BUFENLARGE_KIND_FAREWELL = 8 /* between processes of two jobs, in MPI_Finalize */
} MPIDI_BUFENLARGE_kind_t;

#define MPIDI_BUFENLARGE_NO_MEMORY "no memory for a message it sent"

/* Begins every message but an eager one. 16 bytes, so that am_hdr, in which MPIDIG keeps pointers, is aligned. Same
 * byte order on both sides, as everywhere in MPIDIG. */
typedef struct {
    uint8_t kind;
    uint8_t handler_id;
    uint16_t am_hdr_bytes;
    uint32_t exposure;          /* of KIND_LARGE: where its data is; of KIND_DYNAMIC the tag; of
                                 * KIND_FAREWELL 1 for an answer; else 0 */
    uint64_t data_bytes;        /* of KIND_LARGE they do not follow */
} MPIDI_BUFENLARGE_wire_t;

MPL_STATIC_INLINE_PREFIX bool MPIDI_BUFENLARGE_is_oneside(const MPIDI_BUFENLARGE_wire_t * wire)
{
    return wire->kind == MPIDI_BUFENLARGE_KIND_RMA_OPERATIONS
        || wire->kind == MPIDI_BUFENLARGE_KIND_RMA_REPLIES;
}

/* Begins an eager message: what of MPIDIG_hdr_t differs from one such message to another. With 8 bytes of
 * data and the trailer of its slot it takes 48 bytes, which is what a send queue's entry has room for
 * (docs/decisions/0009-queue-sizes.md). As long as MPIDI_BUFENLARGE_wire_t, and `kind` is at its place. */
typedef struct {
    uint8_t kind;               /* MPIDI_BUFENLARGE_KIND_EAGER */
    uint8_t error_bits;         /* a value of MPIR_Errflag_t */
    uint16_t context_id;
    uint32_t data_bytes;
    int32_t src_rank;
    int32_t tag;
} MPIDI_BUFENLARGE_eager_t;

MPL_static_assert(sizeof(MPIDI_BUFENLARGE_eager_t) == sizeof(MPIDI_BUFENLARGE_wire_t),
                  "a receiver collects either before it knows which");

typedef struct {
    MPIDI_BUFENLARGE_wire_t wire;
    char am_hdr[MPIDI_BUFENLARGE_AM_HDR_MAX];
} MPIDI_BUFENLARGE_header_t;

/* A message, or the rest of one, that the library could not take yet. `window` is the part of the
 * data that lies in memory as it is to be sent: all of it when it is contiguous, else what is in the
 * pack buffer at the moment. */
typedef struct MPIDI_BUFENLARGE_deferred {
    struct MPIDI_BUFENLARGE_deferred *next, *prev;
    MPIR_Request *sreq;         /* NULL: nobody waits for it */
    int handler_id;             /* whose origin callback completes sreq */
    size_t data_bytes;
    size_t data_sent;
    const char *window;
    size_t window_begin;        /* its place in the data */
    size_t window_bytes;
    char *owned;                /* freed at the end: pack buffer or report; NULL when not ours */
    const void *pack_buf;       /* noncontiguous data */
    MPI_Aint pack_count;
    MPI_Datatype pack_datatype; /* MPI_DATATYPE_NULL: nothing (more) to pack, no reference held */
    size_t header_bytes;
    size_t header_sent;
    char header[];
} MPIDI_BUFENLARGE_deferred_t;

struct MPIDI_BUFENLARGE_receive;        /* bufenlarge_am_recv.c */
struct MPIDI_BUFENLARGE_rma;    /* bufenlarge_rma_impl.h */
struct MPIDI_BUFENLARGE_gets;   /* bufenlarge_rma_get.c */

typedef struct MPIDI_BUFENLARGE_peer {
    /* The channel while a send may use it right away: not lost, and no backlog to
     * stand behind. */
    bufenlarge_channel_t *direct;
    bufenlarge_channel_t *channel;
    MPIDI_BUFENLARGE_deferred_t *backlog;/* in order; only the first may be open in the library */
    struct MPIDI_BUFENLARGE_peer *next, *prev;  /* in vci->busy, while there is a backlog */
    struct MPIDI_BUFENLARGE_peer *lost_next;    /* in vci->lost */
    struct MPIDI_BUFENLARGE_receive *receive;   /* made for the first message in several pieces */
    struct MPIDI_BUFENLARGE_rma *rma;   /* made for the first one-sided operation */
    char *lost_text;            /* why the channel is lost; NULL while it is not */
    bufenlarge_status_t lost_status;
    uint32_t number;            /* the rank in MPI_COMM_WORLD; processes of other jobs follow */
    uint32_t exposures;         /* messages without a copy that it has not read to their end */
    uint8_t vci;                /* whose context has the channel */
    bool has_left;              /* took leave in its MPI_Finalize */
    bool has_answered;          /* the own leave */
} MPIDI_BUFENLARGE_peer_t;

/* All that progress touches: one for each VCI of MPICH, with a library context of its own, under that VCI's lock. */
typedef struct {
    bufenlarge_context_t *context;      /* NULL before init_world and after finalize */
    MPIDI_BUFENLARGE_peer_t **peers;    /* by number; NULL where nothing was sent or received yet */
    uint32_t peer_count;        /* entries of `peers`; 0 before the first peer */
    int number;
    MPIDI_BUFENLARGE_peer_t *busy;      /* peers with a backlog, each tried once per round */
    MPIDI_BUFENLARGE_peer_t *lost;      /* lost, and not yet dealt with */
    bool own_lost;              /* a process of the own job was lost */
    struct MPIDI_BUFENLARGE_rma *batches;       /* peers with a batch that is not empty */
    struct MPIDI_BUFENLARGE_gets *gets; /* small Gets whose reply is to come */
    int mpi_errno;              /* to be returned from progress, once */
    int progress_count;         /* of MPICH, when it was last looked at */
    unsigned rounds_empty;      /* in a row */
    unsigned yield_after;
} MPIDI_BUFENLARGE_vci_t;

typedef struct {
    MPIDI_BUFENLARGE_vci_t vci[MPIDI_CH4_MAX_VCIS];
    bufenlarge_options_t *options;
    MPI_Aint eager_max;         /* largest MPIDIG_SEND that goes without asking */
    MPI_Aint large_min;         /* smallest data that is exposed */
    MPI_Aint put_write_min;     /* smallest Put that is an RDMA write where it can be */
    MPI_Aint get_read_min;      /* smallest Get that is a remote read */
} MPIDI_BUFENLARGE_global_t;

extern MPIDI_BUFENLARGE_global_t MPIDI_BUFENLARGE_global;

MPL_STATIC_INLINE_PREFIX MPIDI_BUFENLARGE_vci_t *MPIDI_BUFENLARGE_vci(int number)
{
    return &MPIDI_BUFENLARGE_global.vci[number];
}

/* The first VCI, which also has the channels to processes of other jobs and the netmod's own messages. */
MPL_STATIC_INLINE_PREFIX MPIDI_BUFENLARGE_vci_t *MPIDI_BUFENLARGE_main_vci(void)
{
    return MPIDI_BUFENLARGE_vci(0);
}

/* Returns NULL for a process that nothing was sent to or received from on this VCI. */
MPL_STATIC_INLINE_PREFIX MPIDI_BUFENLARGE_peer_t *MPIDI_BUFENLARGE_peer_known(
    const MPIDI_BUFENLARGE_vci_t * vci, uint32_t number)
{
    return likely(number < vci->peer_count) ? vci->peers[number] : NULL;
}

MPL_STATIC_INLINE_PREFIX bool MPIDI_BUFENLARGE_is_other_job(uint32_t number)
{
    return number >= (uint32_t) MPIR_Process.size;
}

/* What the slow paths of sending are told. `sent` bytes of header and data are gone already. */
typedef struct {
    const void *header;         /* copied if it is needed for longer */
    size_t header_bytes;
    size_t data_bytes;          /* that are to follow the header */
    int handler_id;
    const void *data;           /* contiguous: its first byte; else as given by MPI */
    MPIR_Request *sreq;
    int vci;                    /* on both sides */
    bufenlarge_status_t status; /* of the attempt on the fast path; BUFENLARGE_OK without one */
    size_t sent;
} MPIDI_BUFENLARGE_send_t;

/* bufenlarge_errors.c */
void MPIDI_BUFENLARGE_keep_error(MPIDI_BUFENLARGE_vci_t * vci, int mpi_errno);
int MPIDI_BUFENLARGE_error(bufenlarge_status_t status, const char *text);
int MPIDI_BUFENLARGE_peer_error(const MPIDI_BUFENLARGE_peer_t * peer);

/* bufenlarge_peer.c */
MPIDI_BUFENLARGE_peer_t *MPIDI_BUFENLARGE_peer_get(MPIDI_BUFENLARGE_vci_t * vci, uint32_t number);
int MPIDI_BUFENLARGE_peer_of(MPIR_Comm * comm, int rank, int vci_number,
                             MPIDI_BUFENLARGE_peer_t ** peer_p);
int MPIDI_BUFENLARGE_reachable_peer(MPIR_Comm * comm, int rank,
                                    const MPIDI_BUFENLARGE_send_t * send,
                                    MPIDI_BUFENLARGE_peer_t ** peer_p);
void MPIDI_BUFENLARGE_peer_lost(MPIDI_BUFENLARGE_vci_t * vci, uint32_t number,
                                bufenlarge_status_t status, const char *text);
void MPIDI_BUFENLARGE_peers_free(MPIDI_BUFENLARGE_vci_t * vci);

/* bufenlarge_am_send.c */
int MPIDI_BUFENLARGE_send_rest(MPIR_Comm * comm, int rank, const MPIDI_BUFENLARGE_send_t * send);
int MPIDI_BUFENLARGE_send_packed(MPIR_Comm * comm, int rank, const MPIDI_BUFENLARGE_send_t * send,
                                 MPI_Aint count, MPI_Datatype datatype);
int MPIDI_BUFENLARGE_send_begun(MPIR_Comm * comm, int rank, MPIDI_BUFENLARGE_send_t * send,
                                MPIR_Request ** request);
bool MPIDI_BUFENLARGE_send_control(MPIDI_BUFENLARGE_peer_t * peer, MPIDI_BUFENLARGE_kind_t kind,
                                   uint32_t detail, const void *data, size_t bytes);

/* bufenlarge_backlog.c */
MPIDI_BUFENLARGE_deferred_t *MPIDI_BUFENLARGE_deferred_create(const MPIDI_BUFENLARGE_send_t * send);
MPIDI_BUFENLARGE_deferred_t *MPIDI_BUFENLARGE_deferred_copy(const MPIDI_BUFENLARGE_send_t * send);
void MPIDI_BUFENLARGE_backlog_append(MPIDI_BUFENLARGE_peer_t * peer,
                                   MPIDI_BUFENLARGE_deferred_t * deferred);
unsigned MPIDI_BUFENLARGE_backlog_flush(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer);
void MPIDI_BUFENLARGE_backlog_fail(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer);

/* bufenlarge_am_data.c: where the data of one active message goes, as it comes */
typedef enum {
    MPIDI_BUFENLARGE_DISCARD,   /* the handler wants no data */
    MPIDI_BUFENLARGE_COPY,      /* to the user's buffer */
    MPIDI_BUFENLARGE_UNPACK     /* the same, noncontiguous: through a buffer, since MPICH unpacks whole
                                 * elements of a datatype only, and a piece ends anywhere */
} MPIDI_BUFENLARGE_data_mode_t;

typedef struct {
    MPIDI_BUFENLARGE_data_mode_t mode;
    MPIR_Request *rreq;
    uint64_t bytes;             /* in all */
    uint64_t left;
    char *buffer;               /* UNPACK */
    size_t buffer_have;
    size_t buffer_bytes;
} MPIDI_BUFENLARGE_data_t;

const char *MPIDI_BUFENLARGE_data_begin(MPIDI_BUFENLARGE_data_t * data, MPIR_Request * rreq,
                                        uint64_t bytes);
void MPIDI_BUFENLARGE_data_take(MPIDI_BUFENLARGE_data_t * data, const void *piece, size_t bytes);
void MPIDI_BUFENLARGE_data_end(MPIDI_BUFENLARGE_data_t * data);
int MPIDI_BUFENLARGE_call_handler(const MPIDI_BUFENLARGE_vci_t * vci,
                                  const MPIDI_BUFENLARGE_wire_t * wire, const void *am_hdr,
                                  uint32_t attr, MPIR_Request ** rreq_p);

/* The cookie of every read begins with what its end calls, once. */
typedef struct MPIDI_BUFENLARGE_read {
    void (*done) (MPIDI_BUFENLARGE_vci_t * vci, struct MPIDI_BUFENLARGE_read * read,
                  bufenlarge_status_t status);
} MPIDI_BUFENLARGE_read_t;

/* bufenlarge_rendezvous_send.c */
bool MPIDI_BUFENLARGE_is_dense(MPI_Aint segments, size_t bytes);
bool MPIDI_BUFENLARGE_may_expose(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                                 size_t data_bytes);
int MPIDI_BUFENLARGE_send_large(MPIR_Comm * comm, int rank, MPIDI_BUFENLARGE_send_t * send,
                                MPIDI_BUFENLARGE_wire_t * wire, const void *buf, MPI_Aint count, MPI_Datatype datatype);
void MPIDI_BUFENLARGE_released(void *user, uint32_t peer, void *cookie,
                               bufenlarge_status_t status);

/* bufenlarge_rendezvous_recv.c */
const char *MPIDI_BUFENLARGE_large_arrived(MPIDI_BUFENLARGE_vci_t * vci, uint32_t rank,
                                           const MPIDI_BUFENLARGE_wire_t * wire,
                                           const void *am_hdr);
int MPIDI_BUFENLARGE_large_matched(MPIR_Request * rreq);
void MPIDI_BUFENLARGE_read_done(void *user, uint32_t peer, void *cookie,
                                bufenlarge_status_t status);
void MPIDI_BUFENLARGE_piece(void *user, uint32_t peer, void *cookie, const void *data,
                            size_t bytes);

/* bufenlarge_am_recv.c */
const char *MPIDI_BUFENLARGE_refusal(const MPIDI_BUFENLARGE_wire_t * wire, const void *am_hdr);
void MPIDI_BUFENLARGE_deliver(void *user, uint32_t peer, const void *data, size_t bytes,
                              unsigned marks);
void MPIDI_BUFENLARGE_receive_fail(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer);

/* bufenlarge_eager.c */
const char *MPIDI_BUFENLARGE_eager_deliver(MPIDI_BUFENLARGE_vci_t * vci,
                                           const MPIDI_BUFENLARGE_eager_t * eager,
                                           const void *data);
const char *MPIDI_BUFENLARGE_eager_expand(MPIDI_BUFENLARGE_header_t * header, size_t * have_p);

/* bufenlarge_progress.c */
void MPIDI_BUFENLARGE_failed(void *user, uint32_t peer, bufenlarge_status_t status,
                             const char *message);
int MPIDI_BUFENLARGE_dequeue(MPIDI_BUFENLARGE_vci_t * vci, unsigned *moved_p);

/* bufenlarge_spawn.c */
void MPIDI_BUFENLARGE_dynamic_arrived(int tag, char *data, size_t bytes);
void MPIDI_BUFENLARGE_dynamic_forget(void);

MPL_STATIC_INLINE_PREFIX double MPIDI_BUFENLARGE_seconds_since(const MPL_time_t * begin)
{
    MPL_time_t now;
    double seconds;
    MPL_wtime(&now);
    MPL_wtime_diff(begin, &now, &seconds);
    return seconds;
}

/* bufenlarge_disconnect.c */
void MPIDI_BUFENLARGE_farewell_arrived(MPIDI_BUFENLARGE_peer_t * peer, uint32_t what);
bool MPIDI_BUFENLARGE_farewell_send(MPIDI_BUFENLARGE_vci_t * vci);
bool MPIDI_BUFENLARGE_farewell_done(const MPIDI_BUFENLARGE_vci_t * vci, const MPL_time_t * begin);

/* bufenlarge_collect.c */
void MPIDI_BUFENLARGE_report_take(void);
void MPIDI_BUFENLARGE_report_send(void);
void MPIDI_BUFENLARGE_report_arrived(uint32_t rank, char *report, size_t bytes);
int MPIDI_BUFENLARGE_report_missing(void);
void MPIDI_BUFENLARGE_report_print(void);

#endif /* BUFENLARGE_IMPL_H_INCLUDED */
