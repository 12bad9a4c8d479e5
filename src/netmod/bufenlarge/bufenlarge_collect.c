/* SPDX-License-Identifier: MIT */
/* bufenlarge_collect.c: makes each process's report, and collects the reports at rank 0. */
#include "mpidimpl.h"
#include "bufenlarge_summary.h"

/* The own report until it is sent. */
static MPIDI_BUFENLARGE_report_t *own_report;

/* Rank 0 only. */
static MPIDI_BUFENLARGE_report_t **reports;
static int reports_arrived;

static void keep_report(uint32_t rank, MPIDI_BUFENLARGE_report_t * report)
{
    if (reports == NULL)
        reports = MPL_calloc(MPIR_Process.size, sizeof(*reports), MPL_MEM_OTHER);
    if (reports == NULL || reports[rank] != NULL) {
        MPL_free(report);
        return;
    }
    reports[rank] = report;
    reports_arrived++;
}

/* Keeps a copy of the report of another process; one that is not as it should be counts as missing. */
void MPIDI_BUFENLARGE_report_arrived(uint32_t rank, const void *data, size_t bytes)
{
    MPIDI_BUFENLARGE_report_t *report = bytes < sizeof(*report) ? NULL : MPL_malloc(bytes, MPL_MEM_OTHER);
    if (report == NULL)
        return;
    memcpy(report, data, bytes);
    if (report->report_bytes != bytes || report->rank != rank
        || (bytes - sizeof(*report)) / sizeof(report->channels[0]) != report->channel_count)
        MPL_free(report);
    else
        keep_report(rank, report);
}

static uint32_t count_channels(void)
{
    bufenlarge_channel_stats_t stats;
    uint32_t count = 0;
    for (int vci = 0; vci < MPIDI_global.n_vcis; vci++) {
        const bufenlarge_context_t *context = MPIDI_BUFENLARGE_vci(vci)->context;
        for (uint32_t peer = 0; peer < (uint32_t) MPIR_Process.size; peer++)
            count += bufenlarge_context_channel_stats(context, peer, &stats) != 0;
    }
    return count;
}

static void add_context_rendezvous(MPIDI_BUFENLARGE_rendezvous_t * sum, const bufenlarge_context_stats_t * stats)
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
}

/* Adds the counts of one VCI; its channels go from `at` on. Returns how many it has. */
static uint32_t add_context(MPIDI_BUFENLARGE_report_t * report, const MPIDI_BUFENLARGE_vci_t * vci, uint32_t at)
{
    bufenlarge_context_stats_t stats;
    uint32_t count = at;
    bufenlarge_context_stats(vci->context, &stats);
    report->channels_failed += stats.channels_failed;
    report->connects_refused += stats.connects_refused;
    report->connects_crossed += stats.connects_crossed;
    report->connections_most = MPL_MAX(report->connections_most, stats.connections_most);
    report->connections_closed += stats.connections_closed;
    report->connections_reopened += stats.connections_reopened;
    report->registered_bytes += stats.registered_bytes;
    report->registered_bytes_max += stats.registered_bytes_max;
    report->registrations += stats.registrations;
    report->deregistrations += stats.deregistrations;
    add_context_rendezvous(&report->rendezvous, &stats);
    for (uint32_t peer = 0; peer < (uint32_t) MPIR_Process.size && count < report->channel_count; peer++) {
        report->channels[count].vci = (uint32_t) vci->number;
        count += bufenlarge_context_channel_stats(vci->context, peer, &report->channels[count].stats) != 0;
    }
    return count - at;
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
    snprintf(report->arrival, sizeof(report->arrival), "%s", stats.arrival);
    snprintf(report->arrival_reason, sizeof(report->arrival_reason), "%s", stats.arrival_reason);
    report->connections_max = stats.connections_max;
    snprintf(report->connections_reason, sizeof(report->connections_reason), "%s", stats.connections_reason);
    bufenlarge_context_peer_memory(context, &report->peer_memory);
    snprintf(report->memory_basis, sizeof(report->memory_basis), "%s", report->peer_memory.basis);
    report->peer_memory.basis = NULL;   /* means nothing elsewhere */
}

/* Makes a report of the channels as they are now. Returns NULL when there is no memory for it. */
static MPIDI_BUFENLARGE_report_t *make_report(void)
{
    const uint32_t count = count_channels();
    const size_t bytes =
        sizeof(MPIDI_BUFENLARGE_report_t) + count * sizeof(MPIDI_BUFENLARGE_channel_report_t);
    uint32_t filled = 0;
    MPIDI_BUFENLARGE_report_t *report = MPL_calloc(1, bytes, MPL_MEM_OTHER);
    if (report == NULL)
        return NULL;
    report->report_bytes = (uint32_t) bytes;
    report->channel_count = count;
    fill_report(report, MPIDI_BUFENLARGE_main_vci()->context);
    for (int vci = 0; vci < MPIDI_global.n_vcis; vci++)
        filled += add_context(report, MPIDI_BUFENLARGE_vci(vci), filled);
    return report;
}

/* To be called before any process sends its report: the reports open and enlarge channels, too. */
void MPIDI_BUFENLARGE_report_take(void)
{
    own_report = make_report();
}

/* Begins to send the report to rank 0. */
void MPIDI_BUFENLARGE_report_send(void)
{
    MPIDI_BUFENLARGE_report_t *report = own_report;
    own_report = NULL;
    if (report == NULL)
        return;
    if (MPIR_Process.rank == 0) {
        keep_report(0, report);
        return;
    }
    MPIDI_BUFENLARGE_peer_t *peer = MPIDI_BUFENLARGE_peer_get(MPIDI_BUFENLARGE_main_vci(), 0);
    if (peer != NULL)
        MPIDI_BUFENLARGE_send_control(peer, MPIDI_BUFENLARGE_KIND_REPORT, 0, report, report->report_bytes);
    MPL_free(report);
}

int MPIDI_BUFENLARGE_report_missing(void)
{
    return MPIR_Process.size - reports_arrived;
}

/* Returns the last number of a knob's list, which the library has checked; 0 when there is none. */
static uint64_t last_number(const char *list)
{
    const char *comma = list ? strrchr(list, ',') : NULL;
    return list ? strtoull(comma ? comma + 1 : list, NULL, 10) : 0;
}

static void add_channel(MPIDI_BUFENLARGE_totals_t * totals,
                        const bufenlarge_channel_stats_t * channel)
{
    totals->channels += channel->connected != 0;
    totals->directions_enlarged += (channel->send.phase > 0) + (channel->receive.phase > 0);
    totals->messages += channel->send.messages;
    totals->bytes += channel->send.bytes;
    totals->ring_bytes += channel->registered_bytes;
    totals->ring_bytes_max += channel->registered_bytes_max;
}

static void add_rendezvous(MPIDI_BUFENLARGE_rendezvous_t * total, const MPIDI_BUFENLARGE_rendezvous_t * one)
{
    total->reads += one->reads;
    total->read_bytes += one->read_bytes;
    total->response_bytes += one->response_bytes;
    total->fragment_bytes += one->fragment_bytes;
    total->by_immediate += one->by_immediate;
    total->by_message += one->by_message;
    total->registrations += one->registrations;
    total->registered_bytes_max = MPL_MAX(total->registered_bytes_max, one->registered_bytes_max);
    total->refused += one->refused;
}

static void add_up(MPIDI_BUFENLARGE_totals_t * totals)
{
    memset(totals, 0, sizeof(*totals));
    for (int rank = 0; rank < MPIR_Process.size; rank++) {
        const MPIDI_BUFENLARGE_report_t *report = reports[rank];
        if (report == NULL)
            continue;
        totals->reports++;
        totals->registrations += report->registrations;
        totals->deregistrations += report->deregistrations;
        totals->channels_failed += report->channels_failed;
        totals->connects_refused += report->connects_refused;
        totals->connects_crossed += report->connects_crossed;
        totals->connections_most = MPL_MAX(totals->connections_most, report->connections_most);
        totals->connections_closed += report->connections_closed;
        totals->connections_reopened += report->connections_reopened;
        add_rendezvous(&totals->rendezvous, &report->rendezvous);
        for (uint32_t i = 0; i < report->channel_count; i++)
            add_channel(totals, &report->channels[i].stats);
    }
    totals->ring_bytes_all_large = totals->channels * 2 * last_number(MPIR_CVAR_BUFENLARGE_PHASES)
        * last_number(MPIR_CVAR_BUFENLARGE_SLOTS);
}

/* Prints, at rank 0, the reports that have arrived by now. */
void MPIDI_BUFENLARGE_report_print(void)
{
    const char *path = MPIDI_BUFENLARGE_global.knobs.summary_file;
    MPIDI_BUFENLARGE_totals_t totals;
    if (reports == NULL)
        return;
    add_up(&totals);
    MPIDI_BUFENLARGE_summary_table(reports, MPIR_Process.size, &totals);
    if (path[0] != '\0')
        MPIDI_BUFENLARGE_summary_json(path, reports, MPIR_Process.size, &totals);
    for (int rank = 0; rank < MPIR_Process.size; rank++)
        MPL_free(reports[rank]);
    MPL_free(reports);
    reports = NULL;
    reports_arrived = 0;
}
