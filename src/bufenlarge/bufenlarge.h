/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge.h: the narrow C interface of libbufenlarge, a message channel to each peer over
 * pre-registered RDMA rings that start small and grow per channel and direction.
 *
 * How a message travels. Each channel is an ordered, reliable stream of messages to one peer. A
 * message is a vector of elements handed to bufenlarge_channel_send(). It is copied into the slots
 * of the channel's send ring and RDMA-written into the peer's receive ring; the peer's
 * bufenlarge_context_progress() hands each slot's payload to its deliver callback, in order.
 *
 * Large data need not take that way: what one side exposes the other reads, by RDMA writes from user memory to
 * user memory (seed 004; docs/wire-protocol.md, section 10).
 *
 * Rules that hold for every function here
 *  - Nothing waits, nothing throws, nothing starts a thread.
 *  - Zero bytes sent is not an error: it obliges the caller to keep the rest and to try again after
 *    a later bufenlarge_context_progress().
 *  - A context and everything in it has one owner at a time: calls are not to overlap. Different
 *    contexts of one process share nothing and may be used by different threads at once.
 *  - Texts returned in `message` buffers are cut to fit, always end with NUL, and are one line.
 */
#ifndef BUFENLARGE_H_INCLUDED
#define BUFENLARGE_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#if defined(__GNUC__)
#define BUFENLARGE_API __attribute__((visibility("default")))
#else
#define BUFENLARGE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the wire (docs/wire-protocol.md). Peers of another version are refused. */
#define BUFENLARGE_WIRE_VERSION 4

/* Bytes of an address card; every card has this size, so that cards can be kept in one array. */
#define BUFENLARGE_CARD_BYTES 16

/* Bytes of a process's name (bufenlarge_context_name). */
#define BUFENLARGE_NAME_BYTES 32

/* Most phases of slot sizes a channel can be given. */
#define BUFENLARGE_PHASES_MAX 8

/* Room that is enough for every message text. */
#define BUFENLARGE_MESSAGE_BYTES 512

typedef struct bufenlarge_options bufenlarge_options_t;
typedef struct bufenlarge_context bufenlarge_context_t;
typedef struct bufenlarge_channel bufenlarge_channel_t;

typedef enum {
    BUFENLARGE_OK = 0,
    BUFENLARGE_ERR_OPTION = 1,   /* a knob's name or value is wrong; text names what is allowed */
    BUFENLARGE_ERR_FABRIC = 2,   /* libfabric refused; text has the call and its reason */
    BUFENLARGE_ERR_MEMORY = 3,   /* memory could not be had or registered */
    BUFENLARGE_ERR_PEER = 4,     /* this channel's peer is lost; other channels are unharmed */
    BUFENLARGE_ERR_PROTOCOL = 5, /* the peer broke the wire protocol or speaks another one */
    BUFENLARGE_ERR_TIMEOUT = 6,  /* the connect time limit passed */
    BUFENLARGE_ERR_ARGUMENT = 7  /* the caller broke this interface's contract */
} bufenlarge_status_t;

/* The name of a status, for messages ("BUFENLARGE_ERR_PEER"). Never NULL. */
BUFENLARGE_API const char *bufenlarge_status_name(bufenlarge_status_t status);

/* "1.0.0 (wire 4)" */
BUFENLARGE_API const char *bufenlarge_version(void);

/* ---- knobs (docs/knobs.md, declared in knob_table.h) ------------------------------------- */

/* How many knobs there are, and their names ("PHASES", "SLOTS", ...), in table order. */
BUFENLARGE_API size_t bufenlarge_knob_count(void);
BUFENLARGE_API const char *bufenlarge_knob_name(size_t index);

/* All knobs at their defaults; NULL only when memory is out. Destroy when the context is open. */
BUFENLARGE_API bufenlarge_options_t *bufenlarge_options_create(void);
BUFENLARGE_API void bufenlarge_options_destroy(bufenlarge_options_t *options);

/* Sets one knob from text. A value of NULL or "" keeps the default. On BUFENLARGE_ERR_OPTION the
 * options are unchanged and `message` names the knob, the value and what is allowed. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_options_set(bufenlarge_options_t *options,
                                                          const char *name, const char *value,
                                                          char *message, size_t message_bytes);

/* Checks knobs against each other (phases grow, thresholds fit their slots). To be called once
 * after the last set; bufenlarge_context_open() does it too. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_options_check(const bufenlarge_options_t *options,
                                                            char *message, size_t message_bytes);

/* The knobs the upper layer acts on itself. */
BUFENLARGE_API int bufenlarge_options_summary(const bufenlarge_options_t *options);
/* Owned by the options; "" when no file is wanted. */
BUFENLARGE_API const char *bufenlarge_options_summary_file(const bufenlarge_options_t *options);
BUFENLARGE_API unsigned bufenlarge_options_yield_after(const bufenlarge_options_t *options);

/* ---- context ----------------------------------------------------------------------------- */

/* Marks on a delivered piece. A message that fits one slot comes with both. */
#define BUFENLARGE_FIRST 1u /* begins a message */
#define BUFENLARGE_LAST 2u  /* ends a message */

/* A piece of a message has arrived from `peer`. `data` (8-byte aligned) is readable until the
 * callback returns; it lies in the receive ring. Called only from bufenlarge_context_progress(), in
 * order per peer, each byte exactly once. The callback may send on any channel, and may not call
 * progress or close. `bytes` may be 0. */
typedef void (*bufenlarge_deliver_fn)(void *user, uint32_t peer, const void *data, size_t bytes,
                                      unsigned marks);

/* The channel to `peer` is lost, told once per channel, from progress or send. Its memory is
 * released by the library. Whatever was not delivered will not be. `message` is valid during the
 * call. */
typedef void (*bufenlarge_failed_fn)(void *user, uint32_t peer, bufenlarge_status_t status,
                                     const char *message);

/* The end of a read: all its data is at its destination (BUFENLARGE_OK), or will not come. The destination is
 * the caller's again. `cookie` is the read's. */
typedef void (*bufenlarge_read_done_fn)(void *user, uint32_t peer, void *cookie, bufenlarge_status_t status);

/* The next bytes of a read without a destination. `data` is readable until the callback returns. */
typedef void (*bufenlarge_piece_fn)(void *user, uint32_t peer, void *cookie, const void *data, size_t bytes);

/* The end of a write: its source is the caller's again (BUFENLARGE_OK), or the peer is lost. It tells nothing of the
 * peer's memory (BUFENLARGE_AFTER_WRITES). */
typedef void (*bufenlarge_written_fn)(void *user, uint32_t peer, void *cookie, bufenlarge_status_t status);

/* What was exposed is the caller's again: the peer needs it no more (BUFENLARGE_OK), or is lost. */
typedef void (*bufenlarge_released_fn)(void *user, uint32_t peer, void *cookie, bufenlarge_status_t status);

/* Something the user is to know, told once per context: memory was refused, so data goes in smaller pieces or has to
 * wait. `message` has how much was refused, how much there is, and the limit; it is valid during the call, which may not
 * call the library. */
typedef void (*bufenlarge_warn_fn)(void *user, const char *message);

typedef struct {
    const bufenlarge_options_t *options; /* copied; NULL means defaults */
    uint32_t rank;                       /* own number in the job */
    uint32_t size;                       /* processes in the job, peers 0 .. size-1; other jobs' follow */
    uint64_t job_key;                    /* the job's secret, equal in all its processes */
    bufenlarge_deliver_fn deliver;
    bufenlarge_failed_fn failed;
    void *user; /* handed to all callbacks */
    /* Needed by those who read or expose; else NULL. Called as `deliver` is, or from the end of a channel. */
    bufenlarge_read_done_fn read_done;
    bufenlarge_piece_fn piece;
    bufenlarge_released_fn released;
    bufenlarge_warn_fn warn; /* may be NULL */
    bufenlarge_written_fn written; /* of those who write */
    uint32_t contexts; /* that this process opens for the job, which share its memory; 0 is 1 */
} bufenlarge_context_config_t;

/* Opens device, listener and completion queue. No connection is made. On failure *context_p is
 * NULL and `message` says what was tried and what is there. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_context_open(
    const bufenlarge_context_config_t *config, bufenlarge_context_t **context_p, char *message,
    size_t message_bytes);

/* Closes every channel and frees everything. Messages accepted but not yet written are lost: call
 * bufenlarge_context_idle() first. NULL is allowed. */
BUFENLARGE_API void bufenlarge_context_close(bufenlarge_context_t *context);

/* Writes the own address card, BUFENLARGE_CARD_BYTES long. */
BUFENLARGE_API void bufenlarge_context_card(const bufenlarge_context_t *context, void *card);

/* Makes known all cards, in order of rank (`count` equals the configured size). Copies them. Must
 * come before the first bufenlarge_context_channel(). */
BUFENLARGE_API bufenlarge_status_t bufenlarge_context_set_cards(bufenlarge_context_t *context,
                                                                const void *cards, size_t count);

/* ---- processes of other jobs ------------------------------------------------------------- */

/* Writes the name of `peer`, BUFENLARGE_NAME_BYTES long: by it a process of another job can reach that one. It holds the key
 * of that process's job, so it is to be told only to those who may. BUFENLARGE_ERR_ARGUMENT for a peer that is
 * not there, or that has called without being known by name. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_context_name(const bufenlarge_context_t *context, uint32_t peer,
                                                           void *name);

/* The number of the process of this name, as a peer: its rank when it is of the own job, else a number from the job's
 * size on, the same each time. A process of another job that connects first gets such a number by itself, and is known
 * by its messages. BUFENLARGE_ERR_ARGUMENT when the name is none. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_context_add_peer(bufenlarge_context_t *context, const void *name,
                                                               uint32_t *peer_p);

/* The channel to `peer`, made on first use (without connecting) and owned by the context. NULL
 * when memory is out or `peer` is out of range. peer == own rank is allowed: a loopback channel. */
BUFENLARGE_API bufenlarge_channel_t *bufenlarge_context_channel(bufenlarge_context_t *context,
                                                                uint32_t peer);

/* One round of progress: completions, connection events, arrived slots, grants, acknowledgements,
 * timers. Bounded work. Returns the number of things that moved (0: nothing did). */
BUFENLARGE_API unsigned bufenlarge_context_progress(bufenlarge_context_t *context);

/* 1 when everything that send accepted has been written and completed locally, on all channels
 * that are not lost. */
BUFENLARGE_API int bufenlarge_context_idle(const bufenlarge_context_t *context);

/* ---- channel ----------------------------------------------------------------------------- */

/* The vector handed in does not end the message: its rest comes with a later call. */
#define BUFENLARGE_MORE 1u
/* What is taken may stay in the library until bufenlarge_channel_flush() or the next round of progress:
 * more is sent on this channel at once, and small messages then share a write. */
#define BUFENLARGE_CORK 2u

/* The message is delivered when all that bufenlarge_channel_write() wrote before it is placed in the peer's memory. It is one
 * element of bufenlarge_channel_element_max() at most, and is taken as a whole or not at all. */
#define BUFENLARGE_AFTER_WRITES 4u

/* Takes as much of the vector as can go now, from its start, and returns at once. *bytes_sent_p
 * (0 .. total) was copied and the memory is the caller's again. Connects on first use.
 *
 * A message that was taken in part is open: the next send on this channel must bring its rest, and
 * only that. Zero sent, and any partial count, with BUFENLARGE_OK is normal: no credit, connection
 * or enlargement under way. With an element larger than the present slots' threshold nothing is
 * sent from that element on until the channel has grown (002 fig 3 and fig 5). A vector with zero
 * bytes in total is a message too: *bytes_sent_p cannot tell whether it was taken, so give at least
 * one byte. Errors: BUFENLARGE_ERR_PEER and worse are final for the channel. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_channel_send(bufenlarge_channel_t *channel,
                                                           const struct iovec *iov, int iov_count,
                                                           unsigned flags, size_t *bytes_sent_p);

/* Writes what was taken with BUFENLARGE_CORK. What cannot go now goes with progress. */
BUFENLARGE_API void bufenlarge_channel_flush(bufenlarge_channel_t *channel);

/* ---- large data -------------------------------------------------------------------------- */

/* The smallest message, in bytes, for which reading beats sending on this fabric, or as set by the knob
 * RENDEZVOUS; SIZE_MAX when it is off. */
BUFENLARGE_API size_t bufenlarge_context_rendezvous_min(const bufenlarge_context_t *context);

/* Lets the channel's peer read these segments, which together are one stretch of bytes, and returns the name it is
 * to be told in *exposure_p (never 0). The segments must not change before `released`, which is called once, with
 * `cookie`. Memory that cannot be registered is exposed all the same and read through the ring. The iov array is
 * copied. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_channel_expose(bufenlarge_channel_t *channel,
                                                             const struct iovec *iov, int iov_count,
                                                             void *cookie, uint32_t *exposure_p);

/* The peer's exposure is released when this read has been answered. */
#define BUFENLARGE_READ_LAST 1u

/* Reads `bytes` at `offset` of what the peer exposed, into segments that have as many bytes in all; with iov_count
 * 0 the data is handed to the piece callback in order. Returns at once; read_done is called when all is there,
 * never from within this call. With 0 bytes nothing is read and no callback comes: the exposure is released. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_channel_read(bufenlarge_channel_t *channel, uint32_t exposure,
                                                           uint64_t offset, const struct iovec *iov,
                                                           int iov_count, uint64_t bytes, unsigned flags,
                                                           void *cookie);

/* Shared memory, as the peers are to be told of it. */
typedef struct {
    uint64_t address;  /* for writes */
    uint32_t key;
    uint32_t exposure; /* its name for reads, never 0 */
    uint32_t writable; /* 0: it is to be read only, since nothing on this fabric would tell that a write is placed */
    uint32_t spare;
} bufenlarge_shared_t;

/* Lets every peer read and write this memory, until bufenlarge_context_unshare(); reads of it go without
 * BUFENLARGE_READ_LAST. It is registered at once, and may change at any time: when a peer uses it is the upper layer's
 * business. BUFENLARGE_ERR_MEMORY when it cannot be registered, or would exceed the knob WINDOW_MEMORY. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_context_share(bufenlarge_context_t *context, void *memory, size_t bytes,
                                                            bufenlarge_shared_t *shared_p);
/* To be called when no peer has a read or write of it under way. */
BUFENLARGE_API void bufenlarge_context_unshare(bufenlarge_context_t *context, uint32_t exposure);

/* ---- writing into what the peer shares --------------------------------------------------- */

/* The smallest data, in bytes, for which a read, or a write without asking, of what a peer shares beats a message on this
 * fabric; SIZE_MAX when large data is off. */
BUFENLARGE_API size_t bufenlarge_context_shared_read_min(const bufenlarge_context_t *context);
BUFENLARGE_API size_t bufenlarge_context_shared_write_min(const bufenlarge_context_t *context);

/* Writes into what the peer shares, from `offset` on. The range is the caller's to check: beyond it the device ends the
 * connection. Returns at once; `written` is called with `cookie` when the data may be changed again, never from within
 * this call. BUFENLARGE_ERR_MEMORY: the data cannot be registered now, and nothing was done. */
BUFENLARGE_API bufenlarge_status_t bufenlarge_channel_write(bufenlarge_channel_t *channel, const bufenlarge_shared_t *to,
                                                            uint64_t offset, const void *data, size_t bytes,
                                                            void *cookie);

/* The largest element that goes without growing the channel, now. */
BUFENLARGE_API size_t bufenlarge_channel_element_max(const bufenlarge_channel_t *channel);

/* Why the channel is lost, "" while it is not. Owned by the channel. */
BUFENLARGE_API const char *bufenlarge_channel_error(const bufenlarge_channel_t *channel);

/* ---- what can be observed ---------------------------------------------------------------- */

typedef struct {
    uint32_t phase;              /* ring in use, 0 is the small one */
    uint32_t slot_bytes;         /* of the ring in use; 0 before connecting */
    uint32_t slots;
    uint32_t enlargements;       /* completed */
    uint32_t requests_repeated;  /* acknowledgement late, torn or corrupt */
    uint32_t acks_rejected;      /* acknowledgements torn or corrupt */
    uint32_t refused;            /* enlargements that one side had no memory for; of `send` those of both sides */
    uint64_t messages;
    uint64_t bytes;              /* payload, all phases */
    uint64_t bytes_in_phase[BUFENLARGE_PHASES_MAX];
    uint64_t messages_in_pieces; /* messages that took more than one slot */
} bufenlarge_direction_stats_t;

typedef struct {
    uint32_t peer;
    int connected;                /* 1 when data can flow */
    bufenlarge_direction_stats_t send;
    bufenlarge_direction_stats_t receive;
    uint64_t registered_bytes;    /* ring memory of both directions, now */
    uint64_t registered_bytes_max;
} bufenlarge_channel_stats_t;

typedef struct {
    uint32_t channels;            /* connected */
    uint32_t channels_failed;
    uint32_t connects_refused;    /* incoming connections without the job's key or malformed */
    uint32_t connects_crossed;
    uint64_t registered_bytes;    /* ring memory and control blocks, now */
    uint64_t registered_bytes_max;
    uint64_t registrations;       /* regions registered since open */
    uint64_t deregistrations;     /* regions unregistered and freed since open */
    uint64_t reads;               /* ended */
    uint64_t read_bytes;          /* that came as writes into user memory */
    uint64_t answered_bytes;      /* that went as writes out of user memory */
    uint64_t piece_bytes;         /* of reads and answers, that went through rings */
    uint64_t reads_by_immediate;  /* whose end was learned from immediate data */
    uint64_t reads_by_message;    /* the same from a message */
    uint64_t writes;              /* into what peers share, ended */
    uint64_t written_bytes;       /* of these */
    uint64_t user_refused;        /* registrations of user memory that were not to be had or not worth it */
    uint64_t user_registrations;  /* of user memory, since open */
    uint64_t user_bytes;          /* of user memory registered now */
    uint64_t user_bytes_max;
    const char *provider;         /* owned by the context */
    const char *protocol;         /* libfabric's name of the wire, "FI_PROTO_SOCK_TCP" */
    const char *arrival;          /* "polled", "doorbell" or "mixed" */
    const char *arrival_reason;   /* why, in a few words */
    const char *interface_name;   /* domain (device or interface) */
    const char *address;          /* "127.0.0.1:41233" */
} bufenlarge_context_stats_t;

/* What one connected, idle peer takes, in bytes. Rings, control block and heap are counted; queues are
 * entries asked for times the driver's entry size; the driver's own part is named apart. */
typedef struct {
    uint64_t ring_bytes;             /* both rings in the first phase, whole pages */
    uint64_t control_bytes;          /* control block */
    uint64_t heap_bytes;             /* this library's objects */
    uint64_t send_queue_bytes;
    uint64_t receive_queue_bytes;
    uint64_t completion_queue_bytes; /* its share */
    uint64_t driver_bytes;           /* fixed part of provider and kernel driver */
    const char *basis;               /* where the queue figures come from; never NULL */
} bufenlarge_peer_memory_t;

BUFENLARGE_API void bufenlarge_context_peer_memory(const bufenlarge_context_t *context,
                                                   bufenlarge_peer_memory_t *memory_p);

/* 0 and untouched *stats_p when there is no channel to `peer` yet, else 1. */
BUFENLARGE_API int bufenlarge_context_channel_stats(const bufenlarge_context_t *context,
                                                    uint32_t peer,
                                                    bufenlarge_channel_stats_t *stats_p);
BUFENLARGE_API void bufenlarge_context_stats(const bufenlarge_context_t *context,
                                             bufenlarge_context_stats_t *stats_p);

#ifdef __cplusplus
}
#endif

#endif /* BUFENLARGE_H_INCLUDED */
