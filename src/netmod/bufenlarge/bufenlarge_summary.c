/* SPDX-License-Identifier: MIT */
/* bufenlarge_summary.c: the summary as a table, on standard output of rank 0. */
#include "mpidimpl.h"
#include "bufenlarge_summary.h"

/* Up to so many channels the table has all of them; of more it has those that sent most. */
#define ALL_CHANNELS_MAX 64
#define LARGEST_CHANNELS 10

typedef struct {
    uint32_t rank;
    const bufenlarge_channel_stats_t *stats;
} channel_line_t;

/* "4096+65536": bytes through rings of phase 0, of phase 1, ... up to the last phase used. */
static const char *bytes_by_phase(const bufenlarge_direction_stats_t * direction, char *text,
                                  size_t text_bytes)
{
    int last = BUFENLARGE_PHASES_MAX - 1;
    size_t used = 0;
    while (last > 0 && direction->bytes_in_phase[last] == 0)
        last--;
    for (int phase = 0; phase <= last && used < text_bytes; phase++)
        used += (size_t) snprintf(text + used, text_bytes - used, "%s%llu", phase ? "+" : "",
                                  (unsigned long long) direction->bytes_in_phase[phase]);
    return text;
}

static void print_channel(uint32_t rank, const bufenlarge_channel_stats_t * channel)
{
    char sent[BUFENLARGE_PHASES_MAX * 21], received[BUFENLARGE_PHASES_MAX * 21];
    printf("%5u %5u | %2u %7u %3u %10llu %10llu  %-24s | %2u %7u %3u %10llu %10llu  %-24s |"
           " %10llu %10llu\n", (unsigned) rank, (unsigned) channel->peer,
           (unsigned) channel->send.phase, (unsigned) channel->send.slot_bytes,
           (unsigned) channel->send.enlargements, (unsigned long long) channel->send.messages,
           (unsigned long long) channel->send.messages_fragmented,
           bytes_by_phase(&channel->send, sent, sizeof(sent)), (unsigned) channel->receive.phase,
           (unsigned) channel->receive.slot_bytes, (unsigned) channel->receive.enlargements,
           (unsigned long long) channel->receive.messages,
           (unsigned long long) channel->receive.messages_fragmented,
           bytes_by_phase(&channel->receive, received, sizeof(received)),
           (unsigned long long) channel->registered_bytes,
           (unsigned long long) channel->registered_bytes_max);
}

/* Puts a channel into its place among those that sent most, the first of equal ones first. */
static void enter_largest(channel_line_t * largest, int *count, channel_line_t line)
{
    int at = *count;
    while (at > 0 && largest[at - 1].stats->send.bytes < line.stats->send.bytes)
        at--;
    if (at == LARGEST_CHANNELS)
        return;
    if (*count < LARGEST_CHANNELS)
        ++*count;
    memmove(largest + at + 1, largest + at, (size_t) (*count - 1 - at) * sizeof(*largest));
    largest[at] = line;
}

static void print_channels(const MPIDI_BUFENLARGE_summary_t * summary)
{
    const MPIDI_BUFENLARGE_report_t *const *reports = summary->reports;
    channel_line_t largest[LARGEST_CHANNELS];
    int count = 0;
    uint64_t lines = 0;
    for (int rank = 0; rank < summary->size; rank++)
        lines += reports[rank] ? reports[rank]->channel_count : 0;
    const bool all = lines <= ALL_CHANNELS_MAX;

    if (!all)
        printf("the %d channels that sent most, of %llu (counted at both ends); the file of"
               " MPIR_CVAR_BUFENLARGE_SUMMARY_FILE has all\n", LARGEST_CHANNELS, (unsigned long long) lines);
    printf("%5s %5s | %2s %7s %3s %10s %10s  %-24s | %2s %7s %3s %10s %10s  %-24s | %10s %10s\n",
           "rank", "peer", "ph", "slot B", "enl", "messages", "fragmented", "bytes sent by phase",
           "ph", "slot B", "enl", "messages", "fragmented", "bytes received by phase", "ring B now",
           "at most");
    for (int rank = 0; rank < summary->size; rank++) {
        for (uint32_t i = 0; reports[rank] && i < reports[rank]->channel_count; i++) {
            const bufenlarge_channel_stats_t *channel = &reports[rank]->channels[i].stats;
            if (all)
                print_channel((uint32_t) rank, channel);
            else
                enter_largest(largest, &count, (channel_line_t) {(uint32_t) rank, channel});
        }
    }
    for (int i = 0; i < count; i++)
        print_channel(largest[i].rank, largest[i].stats);
}

/* Says who is missing, or how many where the processes sent no reports of their own. */
static void print_missing(const MPIDI_BUFENLARGE_summary_t * summary)
{
    if (summary->totals->reports >= (uint64_t) summary->size)
        return;
    if (!summary->has_channels) {
        printf("no report arrived from %llu processes\n",
               (unsigned long long) (summary->size - summary->totals->reports));
        return;
    }
    printf("no report arrived from rank");
    for (int rank = 0; rank < summary->size; rank++)
        if (summary->reports[rank] == NULL)
            printf(" %d", rank);
    printf("\n");
}

const MPIDI_BUFENLARGE_distribution_row_t MPIDI_BUFENLARGE_distribution_rows[MPIDI_BUFENLARGE_DISTRIBUTIONS] = {
    {"process_channels", "channels connected, of a process", offsetof(MPIDI_BUFENLARGE_totals_t, process_channels)},
    {"process_messages", "messages sent, by a process", offsetof(MPIDI_BUFENLARGE_totals_t, process_messages)},
    {"process_ring_bytes", "ring B at most, of a process", offsetof(MPIDI_BUFENLARGE_totals_t, process_ring_bytes)},
    {"direction_messages", "messages sent, by a channel", offsetof(MPIDI_BUFENLARGE_totals_t, direction_messages)},
    {"direction_bytes", "bytes sent, by a channel", offsetof(MPIDI_BUFENLARGE_totals_t, direction_bytes)},
};

/* Channels that sent nothing are not among those that sent. */
static void print_distributions(const MPIDI_BUFENLARGE_totals_t * totals)
{
    static const uint32_t percents[] = { 10, 50, 90, 99 };
    printf("%-34s %10s %10s %10s %10s %10s %10s %10s\n", "", "of", "least", "10 %", "50 %", "90 %", "99 %", "most");
    for (int i = 0; i < MPIDI_BUFENLARGE_DISTRIBUTIONS; i++) {
        const MPIDI_BUFENLARGE_distribution_row_t *row = &MPIDI_BUFENLARGE_distribution_rows[i];
        const MPIDI_BUFENLARGE_distribution_t *values = MPIDI_BUFENLARGE_distribution_of(totals, row);
        printf("%-34s %10llu %10llu", row->title, (unsigned long long) values->count,
               (unsigned long long) values->least);
        for (size_t j = 0; j < sizeof(percents) / sizeof(percents[0]); j++)
            printf(" %10llu", (unsigned long long) MPIDI_BUFENLARGE_percentile(values, percents[j]));
        printf(" %10llu\n", (unsigned long long) values->most);
    }
    printf("connected directions by phase:");
    for (int phase = 0; phase < BUFENLARGE_PHASES_MAX; phase++)
        if (totals->directions_in_phase[phase] > 0)
            printf(" %llu in %d", (unsigned long long) totals->directions_in_phase[phase], phase);
    printf("\n");
}

/* Prints the line only for jobs that had such messages. */
static void print_rendezvous(const MPIDI_BUFENLARGE_rendezvous_t * sum)
{
    if (sum->reads == 0 && sum->fragment_bytes == 0)
        return;
    printf("rendezvous: %llu messages read, %llu bytes without a copy (%llu in responses), %llu through rings;"
           " %llu ends by immediate data, %llu by message; user memory registered %llu times, found registered %llu"
           " times, at most %llu bytes in a process, %llu registrations refused\n",
           (unsigned long long) sum->reads, (unsigned long long) sum->read_bytes,
           (unsigned long long) sum->response_bytes, (unsigned long long) sum->fragment_bytes,
           (unsigned long long) sum->by_immediate, (unsigned long long) sum->by_message,
           (unsigned long long) sum->registrations, (unsigned long long) sum->hits,
           (unsigned long long) sum->registered_bytes_max, (unsigned long long) sum->refused);
}

static void print_totals(const MPIDI_BUFENLARGE_summary_t * summary)
{
    const MPIDI_BUFENLARGE_totals_t *totals = summary->totals;
    const unsigned long long now = totals->ring_bytes;
    const unsigned long long all_large = summary->ring_bytes_all_large;
    printf("channels, counted at both ends: %llu connected, %llu directions enlarged, %llu failed\n",
           (unsigned long long) totals->channels, (unsigned long long) totals->directions_enlarged,
           (unsigned long long) totals->counts.channels_failed);
    printf("sent: %llu messages, %llu bytes\n", (unsigned long long) totals->messages,
           (unsigned long long) totals->bytes);
    print_rendezvous(&totals->counts.rendezvous);
    if (totals->counts.unexpected_bytes_max > 0)
        printf("messages that no receive waited for: at most %llu bytes in a process; told to ask before more: %llu"
               " times\n", (unsigned long long) totals->counts.unexpected_bytes_max,
               (unsigned long long) totals->counts.eager_limits);
    printf("regions registered: %llu, deregistered: %llu; connections refused: %llu, crossed: %llu\n",
           (unsigned long long) totals->counts.registrations,
           (unsigned long long) totals->counts.deregistrations,
           (unsigned long long) totals->counts.connects_refused,
           (unsigned long long) totals->counts.connects_crossed);
    printf("registered ring memory of all processes: %llu bytes now, %llu at most\n", now,
           (unsigned long long) totals->ring_bytes_max);
    if (all_large > 0)
        printf("the same channels with large rings only: %llu bytes; saved: %lld bytes (%.1f %%)\n",
               all_large, (long long) (all_large - now),
               100.0 * ((double) all_large - (double) now) / (double) all_large);
}

static void print_peer_memory(const MPIDI_BUFENLARGE_report_t * report)
{
    const bufenlarge_peer_memory_t *memory = &report->peer_memory;
    const uint64_t own = memory->ring_bytes + memory->control_bytes + memory->heap_bytes +
        memory->send_queue_bytes + memory->receive_queue_bytes + memory->completion_queue_bytes;
    printf("connected idle peer: %llu bytes: rings %llu, control block %llu, heap %llu, send queue %llu,"
           " receive queue %llu, completion queue %llu; driver and provider take %llu more (%s)\n",
           (unsigned long long) own, (unsigned long long) memory->ring_bytes,
           (unsigned long long) memory->control_bytes, (unsigned long long) memory->heap_bytes,
           (unsigned long long) memory->send_queue_bytes,
           (unsigned long long) memory->receive_queue_bytes,
           (unsigned long long) memory->completion_queue_bytes,
           (unsigned long long) memory->driver_bytes, report->memory_basis);
}

static void print_connections(const MPIDI_BUFENLARGE_report_t * report, const MPIDI_BUFENLARGE_totals_t * totals)
{
    char bound[16] = "none";
    if (report->connections_max != 0)
        snprintf(bound, sizeof(bound), "%u", (unsigned) report->connections_max);
    printf("connections of a process: bound %s (%s), %llu at most; of all: %llu closed, %llu made again\n", bound,
           report->connections_reason, (unsigned long long) totals->counts.connections_most,
           (unsigned long long) totals->counts.connections_closed,
           (unsigned long long) totals->counts.connections_reopened);
}

static void print_pinned(const MPIDI_BUFENLARGE_report_t * report, const MPIDI_BUFENLARGE_totals_t * totals)
{
    char limit[32] = "none";
    if (report->pinned_bytes_max != 0)
        snprintf(limit, sizeof(limit), "%llu bytes", (unsigned long long) report->pinned_bytes_max);
    printf("pinned memory of a process: limit %s (%s), %llu bytes at most; of all: %llu times refused\n", limit,
           report->pinned_reason, (unsigned long long) totals->counts.pinned_bytes_most,
           (unsigned long long) totals->counts.pinned_refused);
}

void MPIDI_BUFENLARGE_summary_table(const MPIDI_BUFENLARGE_summary_t * summary)
{
    const MPIDI_BUFENLARGE_report_t *own = summary->own;
    printf("==== bufenlarge %s: %d processes, %s (%s) on %s ====\n", bufenlarge_version(), summary->size, own->provider,
           own->protocol, own->interface_name);
    printf("arrival: %s: %s\n", own->arrival, own->arrival_reason);
    print_peer_memory(own);
    print_connections(own, summary->totals);
    print_pinned(own, summary->totals);
    if (summary->has_channels)
        print_channels(summary);
    print_missing(summary);
    print_distributions(summary->totals);
    print_totals(summary);
    fflush(stdout);
}
