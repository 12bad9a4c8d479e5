/* SPDX-License-Identifier: MIT */
/* bufenlarge_summary_json.c: the summary for programs, as one JSON object in a file. */
#include "mpidimpl.h"
#include "bufenlarge_summary.h"
#include "bufenlarge_cvars.h"
#include <inttypes.h>

/* Grows when a name goes or changes its meaning; a new name does not need it. */
#define JSON_FORMAT 1

static void write_string(FILE * file, const char *text)
{
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *) text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < 0x20 || *c >= 0x7f)
            fprintf(file, "\\u%04x", *c);
        else
            fputc(*c, file);
    }
    fputc('"', file);
}

static void write_text(FILE * file, const char *name, const char *value)
{
    fprintf(file, "\"%s\": ", name);
    write_string(file, value ? value : "");
}

static void write_number(FILE * file, const char *name, uint64_t value)
{
    fprintf(file, ", \"%s\": %" PRIu64, name, value);
}

static void write_direction(FILE * file, const char *name,
                            const bufenlarge_direction_stats_t * direction)
{
    fprintf(file, ",\n       \"%s\": {\"phase\": %u", name, (unsigned) direction->phase);
    write_number(file, "slot_bytes", direction->slot_bytes);
    write_number(file, "slots", direction->slots);
    write_number(file, "enlargements", direction->enlargements);
    write_number(file, "shrinks", direction->shrinks);
    write_number(file, "requests_repeated", direction->requests_repeated);
    write_number(file, "acks_rejected", direction->acks_rejected);
    write_number(file, "refused", direction->refused);
    write_number(file, "messages", direction->messages);
    write_number(file, "messages_fragmented", direction->messages_fragmented);
    write_number(file, "bytes", direction->bytes);
    fprintf(file, ", \"bytes_in_phase\": [");
    for (int phase = 0; phase < BUFENLARGE_PHASES_MAX; phase++)
        fprintf(file, "%s%" PRIu64, phase ? ", " : "", direction->bytes_in_phase[phase]);
    fprintf(file, "]}");
}

static void write_channel(FILE * file, const MPIDI_BUFENLARGE_channel_report_t * report)
{
    const bufenlarge_channel_stats_t *channel = &report->stats;
    fprintf(file, "      {\"peer\": %u, \"vci\": %u, \"connected\": %s", (unsigned) channel->peer,
            (unsigned) report->vci, channel->connected ? "true" : "false");
    write_number(file, "registered_bytes", channel->registered_bytes);
    write_number(file, "registered_bytes_max", channel->registered_bytes_max);
    write_direction(file, "send", &channel->send);
    write_direction(file, "receive", &channel->receive);
    fprintf(file, "}");
}

/* Writes what one connected, idle peer takes. */
static void write_peer_memory(FILE * file, const MPIDI_BUFENLARGE_report_t * report)
{
    const bufenlarge_peer_memory_t *memory = &report->peer_memory;
    fprintf(file, ",\n     \"peer_memory\": {");
    write_text(file, "basis", report->memory_basis);
    write_number(file, "ring_bytes", memory->ring_bytes);
    write_number(file, "control_bytes", memory->control_bytes);
    write_number(file, "heap_bytes", memory->heap_bytes);
    write_number(file, "send_queue_bytes", memory->send_queue_bytes);
    write_number(file, "receive_queue_bytes", memory->receive_queue_bytes);
    write_number(file, "completion_queue_bytes", memory->completion_queue_bytes);
    write_number(file, "driver_bytes", memory->driver_bytes);
    fprintf(file, "}");
}

static void write_rendezvous(FILE * file, const MPIDI_BUFENLARGE_rendezvous_t * sum)
{
    fprintf(file, ",\n     \"rendezvous\": {\"reads\": %" PRIu64, sum->reads);
    write_number(file, "read_bytes", sum->read_bytes);
    write_number(file, "response_bytes", sum->response_bytes);
    write_number(file, "fragment_bytes", sum->fragment_bytes);
    write_number(file, "ends_by_immediate", sum->by_immediate);
    write_number(file, "ends_by_message", sum->by_message);
    write_number(file, "registrations", sum->registrations);
    write_number(file, "registered_bytes_max", sum->registered_bytes_max);
    write_number(file, "refused", sum->refused);
    write_number(file, "hits", sum->hits);
    fprintf(file, "}");
}

static void write_counts(FILE * file, const MPIDI_BUFENLARGE_counts_t * counts)
{
    write_number(file, "registrations", counts->registrations);
    write_number(file, "deregistrations", counts->deregistrations);
    write_number(file, "channels_failed", counts->channels_failed);
    write_number(file, "connects_refused", counts->connects_refused);
    write_number(file, "connects_crossed", counts->connects_crossed);
    write_number(file, "connections_most", counts->connections_most);
    write_number(file, "connections_closed", counts->connections_closed);
    write_number(file, "connections_reopened", counts->connections_reopened);
    write_number(file, "pinned_bytes_most", counts->pinned_bytes_most);
    write_number(file, "pinned_refused", counts->pinned_refused);
    write_number(file, "eager_limits", counts->eager_limits);
    write_number(file, "unexpected_bytes_max", counts->unexpected_bytes_max);
    write_rendezvous(file, &counts->rendezvous);
}

/* Begins the object of a process: what it reports, all but its channels. */
static void write_process(FILE * file, const MPIDI_BUFENLARGE_report_t * report)
{
    fprintf(file, "{\"rank\": %u, ", (unsigned) report->rank);
    write_text(file, "host", report->host);
    fprintf(file, ", ");
    write_text(file, "provider", report->provider);
    fprintf(file, ", ");
    write_text(file, "protocol", report->protocol);
    fprintf(file, ", ");
    write_text(file, "interface", report->interface_name);
    fprintf(file, ", ");
    write_text(file, "address", report->address);
    fprintf(file, ", ");
    write_text(file, "arrival", report->arrival);
    fprintf(file, ", ");
    write_text(file, "arrival_reason", report->arrival_reason);
    write_peer_memory(file, report);
    write_number(file, "registered_bytes", report->registered_bytes);
    write_number(file, "registered_bytes_max", report->registered_bytes_max);
    write_number(file, "pinned_bytes_max", report->pinned_bytes_max);
    fprintf(file, ", ");
    write_text(file, "pinned_reason", report->pinned_reason);
    write_number(file, "connections_max", report->connections_max);
    fprintf(file, ", ");
    write_text(file, "connections_reason", report->connections_reason);
    write_counts(file, &report->counts);
}

static void write_report(FILE * file, const MPIDI_BUFENLARGE_report_t * report)
{
    fprintf(file, "    ");
    write_process(file, report);
    fprintf(file, ",\n     \"channels\": [");
    for (uint32_t i = 0; i < report->channel_count; i++) {
        fprintf(file, "%s\n", i ? "," : "");
        write_channel(file, &report->channels[i]);
    }
    fprintf(file, "]}");
}

/* Writes the knobs as rank 0 has them, and their defaults. */
static void write_knobs(FILE * file)
{
    const char *separator = "";
#define WRITE_KNOB(name, text)          \
    do {                                \
        fprintf(file, "%s", separator); \
        write_text(file, name, text);   \
        separator = ", ";               \
    } while (0);
#define WRITE_VALUE(name, value, default_text) WRITE_KNOB(name, value)
#define WRITE_DEFAULT(name, value, default_text) WRITE_KNOB(name, default_text)
    fprintf(file, "  \"knobs\": {");
    MPIDI_BUFENLARGE_FOREACH_KNOB(WRITE_VALUE)
    fprintf(file, "},\n  \"knob_defaults\": {");
    separator = "";
    MPIDI_BUFENLARGE_FOREACH_KNOB(WRITE_DEFAULT)
#undef WRITE_DEFAULT
#undef WRITE_VALUE
#undef WRITE_KNOB
    fprintf(file, "},\n");
}

/* A histogram is a list of [largest value, count], without the empty ones. */
static void write_distributions(FILE * file, const MPIDI_BUFENLARGE_totals_t * totals)
{
    fprintf(file, "  \"distributions\": {");
    for (int i = 0; i < MPIDI_BUFENLARGE_DISTRIBUTIONS; i++) {
        const MPIDI_BUFENLARGE_distribution_row_t *row = &MPIDI_BUFENLARGE_distribution_rows[i];
        const MPIDI_BUFENLARGE_distribution_t *values = MPIDI_BUFENLARGE_distribution_of(totals, row);
        const char *separator = "";
        fprintf(file, "%s\n    \"%s\": {\"count\": %" PRIu64, i ? "," : "", row->name, values->count);
        write_number(file, "sum", values->sum);
        write_number(file, "least", values->least);
        write_number(file, "percent_10", MPIDI_BUFENLARGE_percentile(values, 10));
        write_number(file, "percent_50", MPIDI_BUFENLARGE_percentile(values, 50));
        write_number(file, "percent_90", MPIDI_BUFENLARGE_percentile(values, 90));
        write_number(file, "percent_99", MPIDI_BUFENLARGE_percentile(values, 99));
        write_number(file, "most", values->most);
        fprintf(file, ", \"histogram\": [");
        for (uint32_t bucket = 0; bucket < MPIDI_BUFENLARGE_BUCKETS; bucket++) {
            if (values->buckets[bucket] == 0)
                continue;
            fprintf(file, "%s[%" PRIu64 ", %" PRIu64 "]", separator, MPIDI_BUFENLARGE_bucket_end(bucket),
                    values->buckets[bucket]);
            separator = ", ";
        }
        fprintf(file, "]}");
    }
    fprintf(file, "},\n");
}

static void write_totals(FILE * file, const MPIDI_BUFENLARGE_summary_t * summary)
{
    const MPIDI_BUFENLARGE_totals_t *totals = summary->totals;
    fprintf(file, "  \"totals\": {\"reports\": %" PRIu64, totals->reports);
    write_number(file, "channels", totals->channels);
    write_number(file, "directions_enlarged", totals->directions_enlarged);
    fprintf(file, ", \"directions_in_phase\": [");
    for (int phase = 0; phase < BUFENLARGE_PHASES_MAX; phase++)
        fprintf(file, "%s%" PRIu64, phase ? ", " : "", totals->directions_in_phase[phase]);
    fprintf(file, "]");
    write_number(file, "messages", totals->messages);
    write_number(file, "bytes", totals->bytes);
    write_number(file, "ring_bytes", totals->ring_bytes);
    write_number(file, "ring_bytes_max", totals->ring_bytes_max);
    write_number(file, "ring_bytes_all_large", summary->ring_bytes_all_large);
    write_counts(file, &totals->counts);
    fprintf(file, "}\n");
}

/* Writes the file. If that fails it says so on standard error; the job's result does not depend on the file. */
void MPIDI_BUFENLARGE_summary_json(const char *path, const MPIDI_BUFENLARGE_summary_t * summary)
{
    const char *separator = "";
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr, "bufenlarge: MPIR_CVAR_BUFENLARGE_SUMMARY_FILE: cannot write '%s': %s\n",
                path, strerror(errno));
        return;
    }
    fprintf(file, "{\n  \"format\": %d,\n  ", JSON_FORMAT);
    write_text(file, "version", bufenlarge_version());
    fprintf(file, ",\n  \"processes\": %d,\n", summary->size);
    write_knobs(file);
    fprintf(file, "  \"rank_0\": ");
    write_process(file, summary->own);
    fprintf(file, "},\n  \"reports\": [");
    for (int rank = 0; rank < summary->size; rank++) {
        if (summary->reports[rank] == NULL)
            continue;
        fprintf(file, "%s\n", separator);
        write_report(file, summary->reports[rank]);
        separator = ",";
    }
    fprintf(file, "],\n");
    write_distributions(file, summary->totals);
    write_totals(file, summary);
    fprintf(file, "}\n");
    /* fclose writes what is buffered; a full disk shows only here. */
    const bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed)
        fprintf(stderr, "bufenlarge: MPIR_CVAR_BUFENLARGE_SUMMARY_FILE: '%s' is incomplete: %s\n",
                path, strerror(errno));
}
