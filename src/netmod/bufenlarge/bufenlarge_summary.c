/* SPDX-License-Identifier: MIT */
/* bufenlarge_summary.c: the summary as a table, on standard output of rank 0. */
#include "mpidimpl.h"
#include "bufenlarge_summary.h"

/* Up to so many channels the table has all of them; a longer table has only those that carried messages. */
#define ALL_CHANNELS_MAX 64

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

static bool has_traffic(const bufenlarge_channel_stats_t * channel)
{
    return channel->send.messages > 0 || channel->receive.messages > 0;
}

static void print_channels(MPIDI_BUFENLARGE_report_t ** reports, int size)
{
    uint64_t lines = 0, left_out = 0;
    for (int rank = 0; rank < size; rank++)
        lines += reports[rank] ? reports[rank]->channel_count : 0;
    const bool all = lines <= ALL_CHANNELS_MAX;

    printf("%5s %5s | %2s %7s %3s %10s %10s  %-24s | %2s %7s %3s %10s %10s  %-24s | %10s %10s\n",
           "rank", "peer", "ph", "slot B", "enl", "messages", "fragmented", "bytes sent by phase",
           "ph", "slot B", "enl", "messages", "fragmented", "bytes received by phase", "ring B now",
           "at most");
    for (int rank = 0; rank < size; rank++) {
        for (uint32_t i = 0; reports[rank] && i < reports[rank]->channel_count; i++) {
            const bufenlarge_channel_stats_t *channel = &reports[rank]->channels[i].stats;
            if (all || has_traffic(channel))
                print_channel((uint32_t) rank, channel);
            else
                left_out++;
        }
    }
    if (left_out > 0)
        printf("%llu channels without messages are not shown\n", (unsigned long long) left_out);
}

static void print_missing(MPIDI_BUFENLARGE_report_t ** reports, int size)
{
    printf("no report arrived from rank");
    for (int rank = 0; rank < size; rank++)
        if (reports[rank] == NULL)
            printf(" %d", rank);
    printf("\n");
}

/* Prints the line only for jobs that had such messages. */
static void print_rendezvous(const MPIDI_BUFENLARGE_rendezvous_t * sum)
{
    if (sum->reads == 0 && sum->fragment_bytes == 0)
        return;
    printf("rendezvous: %llu messages read, %llu bytes without a copy (%llu in responses), %llu through rings;"
           " %llu ends by immediate data, %llu by message; user memory registered %llu times,"
           " at most %llu bytes in a process, %llu registrations refused\n",
           (unsigned long long) sum->reads, (unsigned long long) sum->read_bytes,
           (unsigned long long) sum->response_bytes, (unsigned long long) sum->fragment_bytes,
           (unsigned long long) sum->by_immediate, (unsigned long long) sum->by_message,
           (unsigned long long) sum->registrations,
           (unsigned long long) sum->registered_bytes_max, (unsigned long long) sum->refused);
}

static void print_totals(const MPIDI_BUFENLARGE_totals_t * totals)
{
    const unsigned long long now = totals->ring_bytes;
    const unsigned long long all_large = totals->ring_bytes_all_large;
    printf("channels, counted at both ends: %llu connected, %llu directions enlarged, %llu failed\n",
           (unsigned long long) totals->channels, (unsigned long long) totals->directions_enlarged,
           (unsigned long long) totals->channels_failed);
    printf("sent: %llu messages, %llu bytes\n", (unsigned long long) totals->messages,
           (unsigned long long) totals->bytes);
    print_rendezvous(&totals->rendezvous);
    printf("regions registered: %llu, deregistered: %llu; connections refused: %llu, crossed: %llu\n",
           (unsigned long long) totals->registrations,
           (unsigned long long) totals->deregistrations,
           (unsigned long long) totals->connects_refused,
           (unsigned long long) totals->connects_crossed);
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
           report->connections_reason, (unsigned long long) totals->connections_most,
           (unsigned long long) totals->connections_closed, (unsigned long long) totals->connections_reopened);
}

void MPIDI_BUFENLARGE_summary_table(MPIDI_BUFENLARGE_report_t ** reports, int size,
                                    const MPIDI_BUFENLARGE_totals_t * totals)
{
    printf("==== bufenlarge %s: %d processes", bufenlarge_version(), size);
    if (reports[0] != NULL)
        printf(", %s (%s) on %s", reports[0]->provider, reports[0]->protocol,
               reports[0]->interface_name);
    printf(" ====\n");
    if (reports[0] != NULL) {
        printf("arrival: %s: %s\n", reports[0]->arrival, reports[0]->arrival_reason);
        print_peer_memory(reports[0]);
        print_connections(reports[0], totals);
    }
    print_channels(reports, size);
    if (totals->reports < (uint64_t) size)
        print_missing(reports, size);
    print_totals(totals);
    fflush(stdout);
}
