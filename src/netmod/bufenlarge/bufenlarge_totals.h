/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_totals.h: what the summary says of all processes together, in a fixed number of bytes: sums, and how some
 * figures are distributed over processes and channels. The totals of two sets of processes are added to those of both.
 *
 * A distribution counts its values in buckets: one for each value below 8, and four for each power of two from there
 * on. So a percentile is known to a quarter.
 *
 * It uses nothing of MPICH: test/unit/netmod includes it.
 */
#ifndef BUFENLARGE_TOTALS_H_INCLUDED
#define BUFENLARGE_TOTALS_H_INCLUDED

#include <bufenlarge.h>
#include <stdbool.h>

#define MPIDI_BUFENLARGE_BUCKETS 252

typedef struct {
    uint64_t count;
    uint64_t sum;
    uint64_t least;             /* 0 without values */
    uint64_t most;
    uint64_t buckets[MPIDI_BUFENLARGE_BUCKETS];
} MPIDI_BUFENLARGE_distribution_t;

/* Messages whose data the receiver read. */
typedef struct {
    uint64_t reads;             /* messages */
    uint64_t read_bytes;        /* without a copy, counted by the reader */
    uint64_t response_bytes;    /* the same, counted at the source */
    uint64_t fragment_bytes;    /* through rings, counted by both */
    uint64_t by_immediate;      /* reads whose end came as immediate data */
    uint64_t by_message;        /* reads whose end came as a message */
    uint64_t registrations;     /* of user memory */
    uint64_t registered_bytes_max;      /* of user memory, at one time; of the process that had most */
    uint64_t refused;           /* registrations of user memory that were refused or would not pay */
    uint64_t hits;              /* uses of user memory that was registered before */
} MPIDI_BUFENLARGE_rendezvous_t;

/* What the contexts of processes count. */
typedef struct {
    uint64_t registrations;
    uint64_t deregistrations;
    uint64_t channels_failed;
    uint64_t connects_refused;
    uint64_t connects_crossed;
    uint64_t connections_most;  /* at one time, of the VCI that had most */
    uint64_t connections_closed;        /* by agreement */
    uint64_t connections_reopened;
    uint64_t pinned_bytes_most; /* at one time, of the process that had most */
    uint64_t pinned_refused;    /* times that the limit on pinned memory forbade something */
    uint64_t eager_limits;      /* times that a sender was told to send no eager data */
    uint64_t unexpected_bytes_max;      /* of messages that no receive waited for, at one time; of the process that had
                                         * most */
    MPIDI_BUFENLARGE_rendezvous_t rendezvous;
} MPIDI_BUFENLARGE_counts_t;

/* A channel counts at both its ends, as its memory does. */
typedef struct {
    uint64_t reports;           /* processes */
    uint64_t channels;          /* connected */
    uint64_t directions_enlarged;
    uint64_t directions_in_phase[BUFENLARGE_PHASES_MAX];        /* connected, sending and receiving */
    uint64_t messages;          /* sent */
    uint64_t bytes;
    uint64_t ring_bytes;
    uint64_t ring_bytes_max;
    MPIDI_BUFENLARGE_counts_t counts;
    /* Over processes. */
    MPIDI_BUFENLARGE_distribution_t process_channels;   /* connected */
    MPIDI_BUFENLARGE_distribution_t process_messages;   /* sent */
    MPIDI_BUFENLARGE_distribution_t process_ring_bytes; /* at most */
    /* Over the sending directions that carried messages. */
    MPIDI_BUFENLARGE_distribution_t direction_messages;
    MPIDI_BUFENLARGE_distribution_t direction_bytes;
} MPIDI_BUFENLARGE_totals_t;

/* -- distributions -- */

static inline uint32_t MPIDI_BUFENLARGE_bucket_of(uint64_t value)
{
    if (value < 4)
        return (uint32_t) value;
    const uint32_t power = 63 - (uint32_t) __builtin_clzll(value);
    return 4 * (power - 1) + (uint32_t) (value >> (power - 2) & 3);
}

/* Returns the largest value of a bucket. */
static inline uint64_t MPIDI_BUFENLARGE_bucket_end(uint32_t bucket)
{
    if (bucket < 4)
        return bucket;
    return ((uint64_t) (bucket % 4 + 5) << (bucket / 4 - 1)) - 1;
}

static inline void MPIDI_BUFENLARGE_distribution_add(MPIDI_BUFENLARGE_distribution_t * to, uint64_t value)
{
    if (to->count == 0 || value < to->least)
        to->least = value;
    if (value > to->most)
        to->most = value;
    to->count++;
    to->sum += value;
    to->buckets[MPIDI_BUFENLARGE_bucket_of(value)]++;
}

static inline void MPIDI_BUFENLARGE_distribution_merge(MPIDI_BUFENLARGE_distribution_t * to,
                                                       const MPIDI_BUFENLARGE_distribution_t * from)
{
    if (from->count == 0)
        return;
    if (to->count == 0 || from->least < to->least)
        to->least = from->least;
    if (from->most > to->most)
        to->most = from->most;
    to->count += from->count;
    to->sum += from->sum;
    for (int i = 0; i < MPIDI_BUFENLARGE_BUCKETS; i++)
        to->buckets[i] += from->buckets[i];
}

/* Returns a value that is not below `percent` percent of all values, and at most a quarter above the smallest such. */
static inline uint64_t MPIDI_BUFENLARGE_percentile(const MPIDI_BUFENLARGE_distribution_t * of, uint32_t percent)
{
    const uint64_t wanted = of->count / 100 * percent + (of->count % 100 * percent + 99) / 100;
    uint64_t seen = of->buckets[0];
    uint32_t bucket = 0;
    while (seen < wanted && bucket < MPIDI_BUFENLARGE_BUCKETS - 1)
        seen += of->buckets[++bucket];
    const uint64_t end = MPIDI_BUFENLARGE_bucket_end(bucket);
    return end > of->most ? of->most : end < of->least ? of->least : end;
}

/* -- totals -- */

/* Adds a channel of one process. */
static inline void MPIDI_BUFENLARGE_totals_add_channel(MPIDI_BUFENLARGE_totals_t * totals,
                                                       const bufenlarge_channel_stats_t * channel)
{
    const bool connected = channel->connected != 0;
    totals->channels += connected;
    totals->directions_enlarged += (channel->send.phase > 0) + (channel->receive.phase > 0);
    totals->directions_in_phase[channel->send.phase % BUFENLARGE_PHASES_MAX] += connected;
    totals->directions_in_phase[channel->receive.phase % BUFENLARGE_PHASES_MAX] += connected;
    totals->messages += channel->send.messages;
    totals->bytes += channel->send.bytes;
    totals->ring_bytes += channel->registered_bytes;
    totals->ring_bytes_max += channel->registered_bytes_max;
    if (channel->send.messages == 0)
        return;
    MPIDI_BUFENLARGE_distribution_add(&totals->direction_messages, channel->send.messages);
    MPIDI_BUFENLARGE_distribution_add(&totals->direction_bytes, channel->send.bytes);
}

/* All that has been added is of one process: counts it. */
static inline void MPIDI_BUFENLARGE_totals_end_process(MPIDI_BUFENLARGE_totals_t * totals)
{
    totals->reports = 1;
    MPIDI_BUFENLARGE_distribution_add(&totals->process_channels, totals->channels);
    MPIDI_BUFENLARGE_distribution_add(&totals->process_messages, totals->messages);
    MPIDI_BUFENLARGE_distribution_add(&totals->process_ring_bytes, totals->ring_bytes_max);
}

static inline void MPIDI_BUFENLARGE_rendezvous_merge(MPIDI_BUFENLARGE_rendezvous_t * to,
                                                     const MPIDI_BUFENLARGE_rendezvous_t * from)
{
    to->reads += from->reads;
    to->read_bytes += from->read_bytes;
    to->response_bytes += from->response_bytes;
    to->fragment_bytes += from->fragment_bytes;
    to->by_immediate += from->by_immediate;
    to->by_message += from->by_message;
    to->registrations += from->registrations;
    if (from->registered_bytes_max > to->registered_bytes_max)
        to->registered_bytes_max = from->registered_bytes_max;
    to->refused += from->refused;
    to->hits += from->hits;
}

static inline void MPIDI_BUFENLARGE_counts_merge(MPIDI_BUFENLARGE_counts_t * to, const MPIDI_BUFENLARGE_counts_t * from)
{
    to->registrations += from->registrations;
    to->deregistrations += from->deregistrations;
    to->channels_failed += from->channels_failed;
    to->connects_refused += from->connects_refused;
    to->connects_crossed += from->connects_crossed;
    if (from->connections_most > to->connections_most)
        to->connections_most = from->connections_most;
    to->connections_closed += from->connections_closed;
    to->connections_reopened += from->connections_reopened;
    if (from->pinned_bytes_most > to->pinned_bytes_most)
        to->pinned_bytes_most = from->pinned_bytes_most;
    to->pinned_refused += from->pinned_refused;
    to->eager_limits += from->eager_limits;
    if (from->unexpected_bytes_max > to->unexpected_bytes_max)
        to->unexpected_bytes_max = from->unexpected_bytes_max;
    MPIDI_BUFENLARGE_rendezvous_merge(&to->rendezvous, &from->rendezvous);
}

/* Adds the totals of other processes. In which order totals are added makes no difference. */
static inline void MPIDI_BUFENLARGE_totals_merge(MPIDI_BUFENLARGE_totals_t * to, const MPIDI_BUFENLARGE_totals_t * from)
{
    to->reports += from->reports;
    to->channels += from->channels;
    to->directions_enlarged += from->directions_enlarged;
    for (int phase = 0; phase < BUFENLARGE_PHASES_MAX; phase++)
        to->directions_in_phase[phase] += from->directions_in_phase[phase];
    to->messages += from->messages;
    to->bytes += from->bytes;
    to->ring_bytes += from->ring_bytes;
    to->ring_bytes_max += from->ring_bytes_max;
    MPIDI_BUFENLARGE_counts_merge(&to->counts, &from->counts);
    MPIDI_BUFENLARGE_distribution_merge(&to->process_channels, &from->process_channels);
    MPIDI_BUFENLARGE_distribution_merge(&to->process_messages, &from->process_messages);
    MPIDI_BUFENLARGE_distribution_merge(&to->process_ring_bytes, &from->process_ring_bytes);
    MPIDI_BUFENLARGE_distribution_merge(&to->direction_messages, &from->direction_messages);
    MPIDI_BUFENLARGE_distribution_merge(&to->direction_bytes, &from->direction_bytes);
}

#endif /* BUFENLARGE_TOTALS_H_INCLUDED */
