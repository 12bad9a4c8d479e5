/* SPDX-License-Identifier: MIT */
/* bufenlarge_report.c: makes this process's report for the summary, and its totals. */
#include "mpidimpl.h"
#include "bufenlarge_summary.h"
#include <unistd.h>

typedef void (*visit_t) (void *to, int vci, const bufenlarge_channel_stats_t * stats);

/* Calls `visit` for each channel of a VCI, in order of the peers' numbers, those of other jobs left out. Returns false
 * when there is no memory for it. */
static bool each_channel(int vci, visit_t visit, void *to)
{
    const bufenlarge_context_t *context = MPIDI_BUFENLARGE_vci(vci)->context;
    const size_t count = bufenlarge_context_channels(context, NULL, 0);
    uint32_t *peers = MPL_malloc((count + 1) * sizeof(*peers), MPL_MEM_OTHER);
    if (peers == NULL)
        return false;
    bufenlarge_context_channels(context, peers, count);
    for (size_t i = 0; i < count && !MPIDI_BUFENLARGE_is_other_job(peers[i]); i++) {
        bufenlarge_channel_stats_t stats;
        if (bufenlarge_context_channel_stats(context, peers[i], &stats))
            visit(to, vci, &stats);
    }
    MPL_free(peers);
    return true;
}

/* -- totals -- */

static void add_to_totals(void *to, int vci, const bufenlarge_channel_stats_t * stats)
{
    MPIDI_BUFENLARGE_totals_add_channel(to, stats);
}

static void add_rendezvous(MPIDI_BUFENLARGE_rendezvous_t * sum, const bufenlarge_context_stats_t * stats)
{
    sum->reads += stats->reads;
    sum->read_bytes += stats->read_bytes;
    sum->response_bytes += stats->response_bytes;
    sum->fragment_bytes += stats->fragment_bytes;
    sum->by_immediate += stats->reads_by_immediate;
    sum->by_message += stats->reads_by_message;
    sum->registrations += stats->user_registrations;
    sum->registered_bytes_max += stats->user_bytes_max;
    sum->refused += stats->user_refused;
    sum->hits += stats->user_hits;
}

/* Adds what one VCI has counted, whose context has these statistics. */
static void add_counts(MPIDI_BUFENLARGE_counts_t * counts, const MPIDI_BUFENLARGE_vci_t * vci,
                       const bufenlarge_context_stats_t * stats)
{
    counts->registrations += stats->registrations;
    counts->deregistrations += stats->deregistrations;
    counts->channels_failed += stats->channels_failed;
    counts->connects_refused += stats->connects_refused;
    counts->connects_crossed += stats->connects_crossed;
    counts->connections_most = MPL_MAX(counts->connections_most, stats->connections_most);
    counts->connections_closed += stats->connections_closed;
    counts->connections_reopened += stats->connections_reopened;
    counts->pinned_bytes_most += stats->pinned_bytes_most;
    counts->pinned_refused += stats->pinned_refused;
    counts->eager_limits += vci->eager_limits;
    counts->unexpected_bytes_max += vci->unexpected_kib_max * (uint64_t) 1024;
    add_rendezvous(&counts->rendezvous, stats);
}

/* The totals of this process alone, over all VCIs. */
void MPIDI_BUFENLARGE_totals_of_process(MPIDI_BUFENLARGE_totals_t * totals)
{
    memset(totals, 0, sizeof(*totals));
    for (int vci = 0; vci < MPIDI_BUFENLARGE_VCIS; vci++) {
        bufenlarge_context_stats_t stats;
        bufenlarge_context_stats(MPIDI_BUFENLARGE_vci(vci)->context, &stats);
        add_counts(&totals->counts, MPIDI_BUFENLARGE_vci(vci), &stats);
        each_channel(vci, add_to_totals, totals);
    }
    MPIDI_BUFENLARGE_totals_end_process(totals);
}

/* -- the report -- */

static void count_channel(void *to, int vci, const bufenlarge_channel_stats_t * stats)
{
    ++*(uint32_t *) to;
}

static uint32_t count_channels(void)
{
    uint32_t count = 0;
    for (int vci = 0; vci < MPIDI_BUFENLARGE_VCIS; vci++)
        each_channel(vci, count_channel, &count);
    return count;
}

static void add_to_report(void *to, int vci, const bufenlarge_channel_stats_t * stats)
{
    MPIDI_BUFENLARGE_report_t *report = to;
    report->channels[report->channel_count].vci = (uint32_t) vci;
    report->channels[report->channel_count++].stats = *stats;
}

static void add_context(MPIDI_BUFENLARGE_report_t * report, int vci)
{
    bufenlarge_context_stats_t stats;
    bufenlarge_context_stats(MPIDI_BUFENLARGE_vci(vci)->context, &stats);
    add_counts(&report->counts, MPIDI_BUFENLARGE_vci(vci), &stats);
    report->registered_bytes += stats.registered_bytes;
    report->registered_bytes_max += stats.registered_bytes_max;
}

/* Fills in what is the same on all VCIs. */
static void fill_report(MPIDI_BUFENLARGE_report_t * report, const bufenlarge_context_t * context)
{
    bufenlarge_context_stats_t stats;
    bufenlarge_context_stats(context, &stats);
    report->rank = (uint32_t) MPIR_Process.rank;
    snprintf(report->provider, sizeof(report->provider), "%s", stats.provider);
    snprintf(report->protocol, sizeof(report->protocol), "%s", stats.protocol);
    snprintf(report->interface_name, sizeof(report->interface_name), "%s", stats.interface_name);
    snprintf(report->address, sizeof(report->address), "%s", stats.address);
    gethostname(report->host, sizeof(report->host) - 1);
    snprintf(report->arrival, sizeof(report->arrival), "%s", stats.arrival);
    snprintf(report->arrival_reason, sizeof(report->arrival_reason), "%s", stats.arrival_reason);
    report->pinned_bytes_max = stats.pinned_bytes_max * (uint64_t) MPIDI_BUFENLARGE_VCIS;
    snprintf(report->pinned_reason, sizeof(report->pinned_reason), "%s", stats.pinned_reason);
    report->connections_max = stats.connections_max;
    snprintf(report->connections_reason, sizeof(report->connections_reason), "%s", stats.connections_reason);
    bufenlarge_context_peer_memory(context, &report->peer_memory);
    snprintf(report->memory_basis, sizeof(report->memory_basis), "%s", report->peer_memory.basis);
    report->peer_memory.basis = NULL;   /* means nothing elsewhere */
}

/* Makes a report as things are now. Returns NULL when there is no memory for it. */
MPIDI_BUFENLARGE_report_t *MPIDI_BUFENLARGE_report_make(bool with_channels)
{
    const uint32_t count = with_channels ? count_channels() : 0;
    const size_t bytes =
        sizeof(MPIDI_BUFENLARGE_report_t) + count * sizeof(MPIDI_BUFENLARGE_channel_report_t);
    MPIDI_BUFENLARGE_report_t *report = MPL_calloc(1, bytes, MPL_MEM_OTHER);
    bool whole = report != NULL;
    if (report == NULL)
        return NULL;
    fill_report(report, MPIDI_BUFENLARGE_main_vci()->context);
    for (int vci = 0; vci < MPIDI_BUFENLARGE_VCIS && whole; vci++) {
        add_context(report, vci);
        whole = !with_channels || each_channel(vci, add_to_report, report);
    }
    report->report_bytes = (uint32_t) bytes;
    if (whole && report->channel_count == count)
        return report;
    MPL_free(report);
    return NULL;
}
