/* SPDX-License-Identifier: MIT */
/* bufenlarge_stats.h: what the C interface lets a caller observe. Included by bufenlarge.h, not by itself. */
#ifndef BUFENLARGE_STATS_H_INCLUDED
#define BUFENLARGE_STATS_H_INCLUDED

typedef struct {
    uint32_t phase;               /* of the ring in use; 0 is the smallest */
    uint32_t slot_bytes;          /* of the ring in use; 0 before connecting */
    uint32_t slots;
    uint32_t enlargements;        /* completed */
    uint32_t shrinks;             /* the way back to a smaller ring, completed (SHRINK_AFTER) */
    uint32_t requests_repeated;   /* because an acknowledgement was late, torn or corrupt */
    uint32_t acks_rejected;       /* acknowledgements that were torn or corrupt */
    uint32_t refused;             /* other rings one side had no memory for; `send` counts those of both sides */
    uint64_t messages;
    uint64_t bytes;               /* payload, all phases */
    uint64_t bytes_in_phase[BUFENLARGE_PHASES_MAX];
    uint64_t messages_fragmented; /* messages that took more than one slot */
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
    uint32_t connects_refused;    /* incoming connections without the job's key, or malformed */
    uint32_t connects_crossed;
    uint32_t connections;         /* that have an endpoint, those being made included */
    uint32_t connections_most;    /* that there were at one time */
    uint32_t connections_max;     /* that there may be; 0: no bound */
    uint32_t endpoints;           /* made since open; those of connections that ended are used again */
    uint64_t connections_closed;  /* by agreement (IDLE_CLOSE, CONNECTIONS) */
    uint64_t connections_reopened; /* of these, made again */
    uint64_t pinned_bytes;        /* rings, control blocks, queues, user memory, now; on tcp only registered */
    uint64_t pinned_bytes_most;   /* that there were at one time */
    uint64_t pinned_bytes_max;    /* that there may be (MEMORY_MAX); 0: no limit */
    uint64_t pinned_refused;      /* times that the limit forbade something */
    uint64_t registered_bytes;    /* rings and control blocks, now */
    uint64_t registered_bytes_max;
    uint64_t registrations;       /* of rings and control blocks, since open */
    uint64_t deregistrations;     /* of rings and control blocks, since open */
    uint64_t reads;               /* ended */
    uint64_t read_bytes;          /* that arrived as writes into user memory */
    uint64_t response_bytes;      /* that left as writes out of user memory */
    uint64_t fragment_bytes;      /* of reads and responses, through the rings */
    uint64_t reads_by_immediate;  /* whose end came as immediate data */
    uint64_t reads_by_message;    /* whose end came as a message */
    uint64_t writes;              /* into window memory, ended */
    uint64_t written_bytes;       /* by these writes */
    uint64_t user_refused;        /* registrations of user memory that were refused or would not pay */
    uint64_t user_registrations;  /* of user memory, since open */
    uint64_t user_hits;           /* transfers, or parts of them, that found their memory registered */
    uint64_t user_misses;         /* that did not; windows are not counted */
    uint64_t user_evictions;      /* registrations without a transfer that ended to make room */
    uint64_t user_invalidations;  /* registrations whose memory was unmapped or moved */
    uint64_t user_idle_bytes;     /* registered now, without a transfer */
    uint64_t user_bytes;          /* of user memory, registered now */
    uint64_t user_bytes_max;
    const char *provider;         /* the context owns all these texts */
    const char *protocol;         /* libfabric's name of the wire protocol, "FI_PROTO_SOCK_TCP" */
    const char *arrival;          /* "polled", "notified" or "mixed" */
    const char *arrival_reason;   /* why, in a few words */
    const char *registrations_kept; /* which registrations stay without a transfer, and why, in a few words */
    const char *connections_reason; /* why there may be so many, in a few words with figures */
    const char *pinned_reason;    /* why there may be so much, in a few words with figures */
    const char *interface_name;   /* libfabric's domain: device or interface */
    const char *address;          /* "127.0.0.1:41233" */
} bufenlarge_context_stats_t;

/* Why a ring that was wanted could not be had. */
typedef enum {
    BUFENLARGE_REFUSED_NOT = 0,
    BUFENLARGE_REFUSED_HERE = 1,          /* no memory in this process */
    BUFENLARGE_REFUSED_HERE_BY_LIMIT = 2, /* MEMORY_MAX in this process */
    BUFENLARGE_REFUSED_PEER = 3,          /* no memory at the peer */
    BUFENLARGE_REFUSED_PEER_BY_LIMIT = 4  /* MEMORY_MAX at the peer */
} bufenlarge_refusal_t;

/* One direction of a channel has got another ring, or was refused one, or both: a smaller one than was wanted. */
typedef struct {
    uint32_t peer;
    int sends;                    /* 1: the own sends; 0: what the peer sends */
    uint32_t phase_before;        /* these are phases of the receive ring, so that both sides tell the same */
    uint32_t phase;
    uint32_t phase_wanted;
    uint32_t slot_bytes;          /* of `phase` */
    uint32_t slots;
    bufenlarge_refusal_t refusal; /* counted in `refused` unless it is BUFENLARGE_REFUSED_NOT */
    uint64_t ring_bytes;          /* of both rings of the channel, now */
    uint64_t pinned_bytes;        /* of the context, now */
} bufenlarge_change_t;

/* Called from bufenlarge_context_progress(), with `user` of the context. The change is valid during the call. The
 * callback may not call the library. */
typedef void (*bufenlarge_changed_fn)(void *user, const bufenlarge_change_t *change);

/* What one connected, idle peer takes, in bytes. Rings, control block and heap are counted; queues are the
 * entries asked for times the driver's entry size; what the driver itself takes stands apart. */
typedef struct {
    uint64_t ring_bytes;             /* both rings in the first phase */
    uint64_t ring_bytes_largest;     /* both rings in the last phase */
    uint64_t control_bytes;          /* control block */
    uint64_t heap_bytes;             /* objects of this library */
    uint64_t send_queue_bytes;
    uint64_t receive_queue_bytes;
    uint64_t completion_queue_bytes; /* its share */
    uint64_t driver_bytes;           /* fixed part of provider and kernel driver */
    const char *basis;               /* where the queue figures come from; never NULL */
} bufenlarge_peer_memory_t;

#ifdef __cplusplus
extern "C" {
#endif

/* From now on `changed` is called for each change that the counters `enlargements`, `shrinks` and `refused` of a
 * direction count; NULL: none is. What happens on other paths costs the same with it. */
BUFENLARGE_API void bufenlarge_context_set_changed(bufenlarge_context_t *context, bufenlarge_changed_fn changed);

BUFENLARGE_API void bufenlarge_context_peer_memory(const bufenlarge_context_t *context,
                                                   bufenlarge_peer_memory_t *memory_p);

/* Returns how many peers there is a channel to. Writes their numbers, `max` of them at most; all of them, in
 * ascending order, where they fit. */
BUFENLARGE_API size_t bufenlarge_context_channels(const bufenlarge_context_t *context, uint32_t *peers, size_t max);

/* Returns 1; or 0, with *stats_p untouched, while there is no channel to `peer`. */
BUFENLARGE_API int bufenlarge_context_channel_stats(const bufenlarge_context_t *context, uint32_t peer,
                                                    bufenlarge_channel_stats_t *stats_p);
BUFENLARGE_API void bufenlarge_context_stats(const bufenlarge_context_t *context,
                                             bufenlarge_context_stats_t *stats_p);

#ifdef __cplusplus
}
#endif

#endif /* BUFENLARGE_STATS_H_INCLUDED */
