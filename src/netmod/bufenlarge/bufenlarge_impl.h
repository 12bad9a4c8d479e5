/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_impl.h: the state of the netmod, and what its files offer each other.
 *
 * A message of the netmod is one message of libbufenlarge: the wire header (bufenlarge_wire.h), the active
 * message's own header (am_hdr), and the data. The library gets the first two as one element and the data as
 * another, because it decides per element whether the channel has to grow. An eager MPIDIG_SEND has one header
 * (MPIDI_BUFENLARGE_eager_t) in place of the first two.
 *
 *   sending    MPIDI_NM_am_*, MPIDI_NM_mpi_isend -> library, at once, when the peer has no backlog
 *              else, and for what the library did not take -> the peer's backlog -> progress
 *   receiving  library -> MPIDI_BUFENLARGE_deliver -> MPIDIG_global.target_msg_cbs
 *
 * Data of rendezvous_min bytes and more stays where it is: the sender advertises it as a source, the message is the
 * headers with the source handle, and the receiver reads the source (bufenlarge_rendezvous_send.c).
 */
#ifndef BUFENLARGE_IMPL_H_INCLUDED
#define BUFENLARGE_IMPL_H_INCLUDED

#include "bufenlarge_mpich.h"
#include <bufenlarge.h>
#include "bufenlarge_wire.h"

/* Largest MPIDIG_SEND that goes at once. Above it MPIDIG asks first (RTS, CTS), so that the data is
 * received into the user's buffer and not into an unexpected one of the same size. */
#define MPIDI_BUFENLARGE_EAGER_MAX 65536

/* How much noncontiguous data is packed or unpacked at a time: so much that finding the place in the
 * datatype again costs little beside the copying. */
#define MPIDI_BUFENLARGE_PACK_BYTES 65536

/* A message, or the rest of one, that the library could not take yet. `chunk` is the part of the data that lies in
 * memory as it is to be sent: all of it when it is contiguous, else what the pack buffer has at the moment. */
typedef struct MPIDI_BUFENLARGE_deferred {
    struct MPIDI_BUFENLARGE_deferred *next, *prev;
    MPIR_Request *sreq;         /* NULL: no call waits for it */
    int handler_id;             /* whose origin callback completes sreq */
    size_t data_bytes;
    size_t data_sent;
    const char *chunk;
    size_t chunk_begin;         /* its place in the data */
    size_t chunk_bytes;
    char *owned;                /* freed at the end: pack buffer or copy of the data; or NULL */
    const void *pack_buf;       /* noncontiguous data */
    MPI_Aint pack_count;
    MPI_Datatype pack_datatype; /* MPI_DATATYPE_NULL: nothing (more) to pack, no reference held */
    size_t copied;              /* bytes of a small one-sided operation, which a bound counts; or 0 */
    size_t header_bytes;
    size_t header_sent;
    char header[];
} MPIDI_BUFENLARGE_deferred_t;

struct MPIDI_BUFENLARGE_receive;        /* bufenlarge_am_recv.c */
struct MPIDI_BUFENLARGE_rma;    /* bufenlarge_rma_impl.h */
struct MPIDI_BUFENLARGE_gets;   /* bufenlarge_rma_get.c */

typedef struct MPIDI_BUFENLARGE_peer {
    /* The channel while a send may use it at once: the peer is not lost and has no backlog. */
    bufenlarge_channel_t *direct;
    /* The same for eager data: NULL also while the peer takes none (bufenlarge_unexpected.c). */
    bufenlarge_channel_t *eager;
    bufenlarge_channel_t *channel;
    MPIDI_BUFENLARGE_deferred_t *backlog;/* in order; only the first may be open in the library */
    struct MPIDI_BUFENLARGE_peer *next, *prev;  /* in vci->busy, while there is a backlog */
    struct MPIDI_BUFENLARGE_peer *lost_next;    /* in vci->lost */
    struct MPIDI_BUFENLARGE_receive *receive;   /* made for the first message in several fragments */
    struct MPIDI_BUFENLARGE_rma *rma;   /* made for the first one-sided operation */
    char *lost_text;            /* why the peer is lost; NULL while it is not */
    uint32_t number;            /* the rank in MPI_COMM_WORLD; processes of other jobs follow */
    uint32_t sources;           /* advertised to it and not released */
    uint32_t unexpected_kib;    /* that its unexpected messages with data take here */
    uint8_t vci;                /* whose context has the channel */
    int8_t lost_status;         /* a bufenlarge_status_t */
    bool no_eager_from:1;       /* it was told to send no eager data */
    bool no_eager_to:1;         /* it has told this process so */
    bool disconnect_received:1; /* it has sent its disconnect request */
    bool disconnect_replied:1;  /* it has replied to the own disconnect request */
} MPIDI_BUFENLARGE_peer_t;

/* A VCI's table of peers is made of leaves with so many, each made with the first of its peers: a process that nothing
 * was sent to or received from costs an eighth of a byte. */
#define MPIDI_BUFENLARGE_LEAF_PEERS 64

/* The state of one VCI of MPICH: it has a library context of its own, and the VCI's lock guards all of it. */
typedef struct {
    bufenlarge_context_t *context;      /* NULL before init_world and after finalize */
    MPIDI_BUFENLARGE_peer_t ***leaves;  /* by number; NULL where nothing was sent or received yet */
    uint32_t peer_count;        /* numbers that the leaves are for; 0 before the first peer */
    int number;
    MPIDI_BUFENLARGE_peer_t *busy;      /* peers with a backlog, each tried once per round */
    MPIDI_BUFENLARGE_peer_t *lost;      /* peers that progress has not given up yet */
    bool in_progress;           /* in a round */
    bool own_lost;              /* a process of the own job was lost */
    bool looked;                /* for what waits in vain, at looked_at */
    MPL_time_t looked_at;
    MPL_atomic_int_t watches;   /* a process has failed, or a communicator was revoked */
    int failures_known;         /* of the process's list (bufenlarge_failure.c) */
    struct MPIDI_BUFENLARGE_rma *batches;       /* peers with a batch that is not empty */
    size_t copied;              /* bytes of small one-sided operations in backlogs */
    struct MPIDI_BUFENLARGE_gets *gets; /* small Gets whose reply is to come */
    struct MPIDI_BUFENLARGE_incoming *unmatched;        /* rendezvous messages, in order */
    uint32_t no_eager_peers;    /* that take no eager data */
    uint32_t unexpected_kib;    /* that unexpected messages with data take, and the most at one time */
    uint32_t unexpected_kib_max;
    uint64_t eager_limits;      /* times that a peer was told to send no eager data */
    int mpi_errno;              /* to be returned from progress, once */
    int progress_count;         /* of MPICH, when it was last looked at */
    unsigned rounds_empty;      /* in a row */
    unsigned yield_after;       /* rounds; 0: this process never yields */
    unsigned sleep_after_us;    /* 0: this process never sleeps */
    uint64_t empty_since_us;    /* when the first of rounds_empty ended */
} MPIDI_BUFENLARGE_vci_t;

/* The knobs that the netmod reads itself (bufenlarge_knob_table.h). */
typedef struct {
    bool summary;
    const char *summary_file;   /* "": none; MPICH's variable owns the text */
    unsigned summary_processes; /* a job of so many at most has their channels in its summary */
    bool yield_auto;
    unsigned yield_after;       /* 0: never */
    bool sleep_auto;
    unsigned sleep_after_us;    /* 0: never */
    unsigned unexpected;        /* most bytes of one sender's unexpected data; 0: no limit */
} MPIDI_BUFENLARGE_knobs_t;

typedef struct {
    MPIDI_BUFENLARGE_vci_t vci[MPIDI_CH4_MAX_VCIS];
    bufenlarge_options_t *options;      /* the library's knobs */
    uint64_t job_key;
    void *addresses;            /* of all processes and VCIs, in the node's shared memory; the contexts refer to it */
    bool has_world;             /* MPI_COMM_WORLD exists */
    bool met_other_job;         /* there was a peer of another job */
    bool waits_for_manager;     /* a thread of its own is in the process manager's barrier */
    MPIDI_BUFENLARGE_knobs_t knobs;
    MPI_Aint eager_max;         /* largest MPIDIG_SEND that goes at once */
    MPI_Aint rendezvous_min;    /* smallest data that is advertised */
    MPI_Aint put_write_min;     /* smallest Put that is an RDMA write, if the window allows it */
    MPI_Aint get_read_min;      /* smallest Get that is a read of window memory */
} MPIDI_BUFENLARGE_global_t;

extern MPIDI_BUFENLARGE_global_t MPIDI_BUFENLARGE_global;

/* Where MPICH has one VCI only, the compiler knows its place. */
MPL_STATIC_INLINE_PREFIX MPIDI_BUFENLARGE_vci_t *MPIDI_BUFENLARGE_vci(int number)
{
    return &MPIDI_BUFENLARGE_global.vci[MPIDI_CH4_MAX_VCIS > 1 ? number : 0];
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
    if (unlikely(number >= vci->peer_count))
        return NULL;
    MPIDI_BUFENLARGE_peer_t **leaf = vci->leaves[number / MPIDI_BUFENLARGE_LEAF_PEERS];
    return likely(leaf != NULL) ? leaf[number % MPIDI_BUFENLARGE_LEAF_PEERS] : NULL;
}

/* Returns whether the buffer lies in the memory of a GPU. */
MPL_STATIC_INLINE_PREFIX bool MPIDI_BUFENLARGE_on_device(const void *buf)
{
    MPL_pointer_attr_t attr;
    MPIR_GPU_query_pointer_attr(buf, &attr);
    return attr.type == MPL_GPU_POINTER_DEV;
}

MPL_STATIC_INLINE_PREFIX bool MPIDI_BUFENLARGE_is_other_job(uint32_t number)
{
    return number >= (uint32_t) MPIR_Process.size;
}

/* What the fast path of sending hands to the slow paths. The library has taken `sent` bytes of header and data. */
typedef struct {
    const void *header;         /* copied if it is needed longer */
    size_t header_bytes;
    size_t data_bytes;          /* behind the header */
    int handler_id;
    const void *data;           /* contiguous: its first byte; else as given by MPI */
    MPIR_Request *sreq;
    int vci;                    /* on both sides */
    bufenlarge_status_t status; /* of the attempt on the fast path; BUFENLARGE_OK if there was none */
    size_t sent;
} MPIDI_BUFENLARGE_send_t;

/* bufenlarge_errors.c */
void MPIDI_BUFENLARGE_warn(void *user, const char *text);
void MPIDI_BUFENLARGE_keep_error(MPIDI_BUFENLARGE_vci_t * vci, int mpi_errno);
int MPIDI_BUFENLARGE_error(bufenlarge_status_t status, const char *text);
const char *MPIDI_BUFENLARGE_start_error(void);
int MPIDI_BUFENLARGE_peer_error(const MPIDI_BUFENLARGE_peer_t * peer);
void MPIDI_BUFENLARGE_peer_warn(const MPIDI_BUFENLARGE_peer_t * peer);

/* bufenlarge_peer.c */
MPIDI_BUFENLARGE_peer_t *MPIDI_BUFENLARGE_peer_get(MPIDI_BUFENLARGE_vci_t * vci, uint32_t number);
int MPIDI_BUFENLARGE_peer_of(MPIR_Comm * comm, int rank, int vci_number, MPIDI_BUFENLARGE_peer_t ** peer_p);
int MPIDI_BUFENLARGE_reachable_peer(MPIR_Comm * comm, int rank, const MPIDI_BUFENLARGE_send_t * send,
                                    MPIDI_BUFENLARGE_peer_t ** peer_p);
void MPIDI_BUFENLARGE_peer_lost(MPIDI_BUFENLARGE_vci_t * vci, uint32_t number,
                                bufenlarge_status_t status, const char *text);
void MPIDI_BUFENLARGE_peers_free(MPIDI_BUFENLARGE_vci_t * vci);

/* bufenlarge_am_send.c */
int MPIDI_BUFENLARGE_send_rest(MPIR_Comm * comm, int rank, const MPIDI_BUFENLARGE_send_t * send);
int MPIDI_BUFENLARGE_send_packed(MPIR_Comm * comm, int rank, const MPIDI_BUFENLARGE_send_t * send,
                                 MPI_Aint count, MPI_Datatype datatype);
int MPIDI_BUFENLARGE_send_begun(MPIR_Comm * comm, int rank, MPIDI_BUFENLARGE_send_t * send, MPIR_Request ** request);
bool MPIDI_BUFENLARGE_send_control(MPIDI_BUFENLARGE_peer_t * peer, MPIDI_BUFENLARGE_kind_t kind,
                                   uint32_t detail, const void *data, size_t bytes);

/* bufenlarge_failure_errors.c, and MPIDI_BUFENLARGE_send_failed() in bufenlarge_failure_end.c */
int MPIDI_BUFENLARGE_send_error(const MPIDI_av_entry_t * av, int vci);
/* Of a probe that has found nothing: MPI_SUCCESS when something may come. */
int MPIDI_BUFENLARGE_probe_error(MPIR_Comm * comm, int source, int vci);
int MPIDI_BUFENLARGE_send_failed(int mpi_errno, MPIR_Comm * comm, int vci, MPIR_Request ** request);

/* bufenlarge_backlog.c */
MPIDI_BUFENLARGE_deferred_t *MPIDI_BUFENLARGE_deferred_create(const MPIDI_BUFENLARGE_send_t * send);
MPIDI_BUFENLARGE_deferred_t *MPIDI_BUFENLARGE_deferred_copy(const MPIDI_BUFENLARGE_send_t * send);
void MPIDI_BUFENLARGE_backlog_append(MPIDI_BUFENLARGE_peer_t * peer, MPIDI_BUFENLARGE_deferred_t * deferred);
unsigned MPIDI_BUFENLARGE_backlog_flush(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer);
void MPIDI_BUFENLARGE_backlog_fail(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer);

/* Notes that the netmod itself will complete this request, or call its callback; and that it has. */
MPL_STATIC_INLINE_PREFIX void MPIDI_BUFENLARGE_hold(MPIR_Request * req)
{
    MPIDIG_REQUEST(req, netmod_am.bufenlarge.held)++;
}

MPL_STATIC_INLINE_PREFIX void MPIDI_BUFENLARGE_let_go(MPIR_Request * req)
{
    MPIDIG_REQUEST(req, netmod_am.bufenlarge.held)--;
}

/* bufenlarge_am_data.c: where the data of one active message goes, as it comes */
typedef enum {
    MPIDI_BUFENLARGE_DISCARD,   /* the handler wants no data */
    MPIDI_BUFENLARGE_COPY,      /* to the user's buffer */
    MPIDI_BUFENLARGE_UNPACK     /* the same, noncontiguous: through a buffer, since MPICH unpacks whole
                                 * elements of a datatype only, and a fragment ends anywhere */
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
void MPIDI_BUFENLARGE_data_take(MPIDI_BUFENLARGE_data_t * data, const void *fragment, size_t bytes);
void MPIDI_BUFENLARGE_data_end(MPIDI_BUFENLARGE_data_t * data);
int MPIDI_BUFENLARGE_call_handler(const MPIDI_BUFENLARGE_vci_t * vci,
                                  const MPIDI_BUFENLARGE_wire_t * wire, const void *am_hdr,
                                  const void *data, uint32_t attr, MPIR_Request ** rreq_p);

/* The cookie of every read begins with the function to call when the read has ended. */
typedef struct MPIDI_BUFENLARGE_read {
    void (*done) (MPIDI_BUFENLARGE_vci_t * vci, struct MPIDI_BUFENLARGE_read * read,
                  bufenlarge_status_t status);
} MPIDI_BUFENLARGE_read_t;

/* bufenlarge_rendezvous_send.c */
bool MPIDI_BUFENLARGE_is_dense(MPI_Aint segments, size_t bytes);
bool MPIDI_BUFENLARGE_may_advertise(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                                    size_t data_bytes);
int MPIDI_BUFENLARGE_send_rendezvous(MPIR_Comm * comm, int rank, MPIDI_BUFENLARGE_send_t * send,
                                     MPIDI_BUFENLARGE_wire_t * wire, const void *buf, MPI_Aint count,
                                     MPI_Datatype datatype);
void MPIDI_BUFENLARGE_source_released(void *user, uint32_t peer, void *cookie,
                                      bufenlarge_status_t status);

/* bufenlarge_rendezvous_recv.c */
const char *MPIDI_BUFENLARGE_rendezvous_arrived(MPIDI_BUFENLARGE_vci_t * vci, uint32_t peer,
                                                const MPIDI_BUFENLARGE_wire_t * wire,
                                                const void *am_hdr, const void *data);
/* Whether an unexpected rendezvous message of the peer refers to it. */
bool MPIDI_BUFENLARGE_has_unmatched(const MPIDI_BUFENLARGE_vci_t * vci, const MPIDI_BUFENLARGE_peer_t * peer);
int MPIDI_BUFENLARGE_rendezvous_matched(MPIR_Request * rreq);
void MPIDI_BUFENLARGE_read_done(void *user, uint32_t peer, void *cookie,
                                bufenlarge_status_t status);
void MPIDI_BUFENLARGE_fragment(void *user, uint32_t peer, void *cookie, const void *data,
                               size_t bytes);

/* bufenlarge_am_recv.c */
void MPIDI_BUFENLARGE_deliver(void *user, uint32_t peer, const void *data, size_t bytes,
                              unsigned marks);
void MPIDI_BUFENLARGE_receive_fail(MPIDI_BUFENLARGE_vci_t * vci, MPIDI_BUFENLARGE_peer_t * peer);

/* bufenlarge_eager.c */
const char *MPIDI_BUFENLARGE_eager_deliver(MPIDI_BUFENLARGE_vci_t * vci, uint32_t number,
                                           const MPIDI_BUFENLARGE_eager_t * eager,
                                           const void *data);
const char *MPIDI_BUFENLARGE_eager_expand(MPIDI_BUFENLARGE_header_t * header, size_t * have_p);

/* bufenlarge_progress.c */
void MPIDI_BUFENLARGE_failed(void *user, uint32_t peer, bufenlarge_status_t status,
                             const char *message);
void MPIDI_BUFENLARGE_fatal(void *user, bufenlarge_status_t status, const char *message);
int MPIDI_BUFENLARGE_dequeue(MPIDI_BUFENLARGE_vci_t * vci, unsigned *moved_p);

MPL_STATIC_INLINE_PREFIX double MPIDI_BUFENLARGE_seconds_since(const MPL_time_t * begin)
{
    MPL_time_t now;
    double seconds;
    MPL_wtime(&now);
    MPL_wtime_diff((MPL_time_t *) begin, &now, &seconds);      /* not const in MPICH 4.3 */
    return seconds;
}

#endif /* BUFENLARGE_IMPL_H_INCLUDED */
