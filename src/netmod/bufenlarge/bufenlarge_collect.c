/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_collect.c: collects what the processes report at rank 0, along a tree. A process adds what its children
 * sent to its own totals, puts their reports behind its own, and sends all of it to its parent. So no process gets more
 * messages than the job's size has bits, and opens no more connections for them.
 */
#include "mpidimpl.h"
#include "bufenlarge_summary.h"
#include "bufenlarge_cvars.h"
#include "bufenlarge_end.h"
#include "bufenlarge_tree.h"

/* What this process sends, or rank 0 prints, from report_take() on; NULL before and behind. The reports follow. */
static MPIDI_BUFENLARGE_gathered_t *gathered;
static uint32_t children_arrived;       /* a bit for each, by its number */

static uint32_t own_rank(void)
{
    return (uint32_t) MPIR_Process.rank;
}

static uint32_t count_children(void)
{
    return MPIDI_BUFENLARGE_tree_children(own_rank(), (uint32_t) MPIR_Process.size);
}

static bool has_channels(void)
{
    return (unsigned) MPIR_Process.size <= MPIDI_BUFENLARGE_global.knobs.summary_processes;
}

/* -- what arrives -- */

/* Returns whether `data` is reports of processes below `child`, as they should be, one behind the other. */
static bool are_reports(uint32_t child, const char *data, size_t bytes)
{
    const uint32_t end = MPIDI_BUFENLARGE_tree_end(child, (uint32_t) MPIR_Process.size);
    while (bytes > 0) {
        MPIDI_BUFENLARGE_report_t report;
        if (bytes < sizeof(report))
            return false;
        memcpy(&report, data, sizeof(report));
        const size_t of_channels = report.report_bytes - sizeof(report);
        if (report.report_bytes < sizeof(report) || report.report_bytes > bytes
            || of_channels / sizeof(report.channels[0]) != report.channel_count
            || of_channels % sizeof(report.channels[0]) != 0 || report.rank < child || report.rank >= end)
            return false;
        data += report.report_bytes;
        bytes -= report.report_bytes;
    }
    return true;
}

static bool is_valid(uint32_t child, const void *data, size_t bytes)
{
    MPIDI_BUFENLARGE_gathered_t begin;
    if (bytes < sizeof(begin))
        return false;
    memcpy(&begin, data, sizeof(begin));
    return begin.bytes == bytes
        && begin.totals.reports <= MPIDI_BUFENLARGE_tree_end(child, (uint32_t) MPIR_Process.size) - child
        && (has_channels() || bytes == sizeof(begin))
        && are_reports(child, (const char *) data + sizeof(begin), bytes - sizeof(begin));
}

/* Puts reports behind those that are there. Returns false when there is no memory for them. */
static bool append(const void *reports, size_t bytes)
{
    MPIDI_BUFENLARGE_gathered_t *more = MPL_realloc(gathered, gathered->bytes + bytes, MPL_MEM_OTHER);
    if (more == NULL)
        return false;
    memcpy((char *) more + more->bytes, reports, bytes);
    more->bytes += bytes;
    gathered = more;
    return true;
}

bool MPIDI_BUFENLARGE_report_is_awaited(uint32_t rank)
{
    return !MPIDI_BUFENLARGE_is_other_job(rank) && MPIDI_BUFENLARGE_tree_is_child(own_rank(), rank);
}

/* Takes over what a child has gathered; what is not as it should be counts as missing. */
void MPIDI_BUFENLARGE_report_arrived(uint32_t child, const void *data, size_t bytes)
{
    const uint32_t bit = child - own_rank();
    MPIDI_BUFENLARGE_gathered_t begin;
    if (gathered == NULL || (children_arrived & bit) || !is_valid(child, data, bytes))
        return;
    memcpy(&begin, data, sizeof(begin));
    if (!append((const char *) data + sizeof(begin), bytes - sizeof(begin)))
        return;
    MPIDI_BUFENLARGE_totals_merge(&gathered->totals, &begin.totals);
    children_arrived |= bit;
}

/* -- in MPI_Finalize -- */

/* To be called before any process sends its message: the messages open and enlarge channels, too. */
void MPIDI_BUFENLARGE_report_take(void)
{
    MPIDI_BUFENLARGE_report_t *report;
    children_arrived = 0;
    gathered = MPL_malloc(sizeof(*gathered), MPL_MEM_OTHER);
    if (gathered == NULL)
        return;
    gathered->bytes = sizeof(*gathered);
    MPIDI_BUFENLARGE_totals_of_process(&gathered->totals);
    report = has_channels() ? MPIDI_BUFENLARGE_report_make(true) : NULL;
    if (report != NULL)
        append(report, report->report_bytes);
    MPL_free(report);
}

/* Returns whether the message of a child is missing. */
bool MPIDI_BUFENLARGE_report_missing(void)
{
    return gathered != NULL && children_arrived != (1u << count_children()) - 1;
}

/* How many steps of the tree are below this process. */
unsigned MPIDI_BUFENLARGE_report_height(void)
{
    return count_children();
}

/* Begins to send what there is to the parent. */
void MPIDI_BUFENLARGE_report_send(void)
{
    MPIDI_BUFENLARGE_gathered_t *message = gathered;
    MPIDI_BUFENLARGE_peer_t *peer;
    if (MPIR_Process.rank == 0)
        return;
    gathered = NULL;
    peer = message == NULL ? NULL :
        MPIDI_BUFENLARGE_peer_get(MPIDI_BUFENLARGE_main_vci(), MPIDI_BUFENLARGE_tree_parent(own_rank()));
    if (peer != NULL)
        MPIDI_BUFENLARGE_send_control(peer, MPIDI_BUFENLARGE_KIND_REPORT, 0, message, message->bytes);
    MPL_free(message);
}

/* -- at rank 0 -- */

/* Enters each report by its rank. The structures lie behind each other, each a multiple of 8 bytes long. */
static void find_reports(const MPIDI_BUFENLARGE_report_t ** reports)
{
    const char *at = (const char *) (gathered + 1), *end = (const char *) gathered + gathered->bytes;
    MPL_COMPILE_TIME_ASSERT(sizeof(MPIDI_BUFENLARGE_report_t) % 8 == 0);
    MPL_COMPILE_TIME_ASSERT(sizeof(MPIDI_BUFENLARGE_channel_report_t) % 8 == 0);
    while (at < end) {
        const MPIDI_BUFENLARGE_report_t *report = (const MPIDI_BUFENLARGE_report_t *) at;
        reports[report->rank] = report;
        at += report->report_bytes;
    }
}

/* Prints, at rank 0, what has arrived by now. */
void MPIDI_BUFENLARGE_report_print(void)
{
    const char *path = MPIDI_BUFENLARGE_global.knobs.summary_file;
    MPIDI_BUFENLARGE_report_t *own = MPIDI_BUFENLARGE_report_make(false);
    const MPIDI_BUFENLARGE_report_t **reports = MPL_calloc(MPIR_Process.size, sizeof(*reports), MPL_MEM_OTHER);
    if (gathered != NULL && own != NULL && reports != NULL) {
        const MPIDI_BUFENLARGE_summary_t summary = {
            .size = MPIR_Process.size,.has_channels = has_channels(),.own = own,.reports = reports,
            .totals = &gathered->totals,
            .ring_bytes_all_large = gathered->totals.channels * own->peer_memory.ring_bytes_largest,
        };
        find_reports(reports);
        MPIDI_BUFENLARGE_summary_table(&summary);
        if (path[0] != '\0')
            MPIDI_BUFENLARGE_summary_json(path, &summary);
    }
    MPL_free(reports);
    MPL_free(own);
    MPL_free(gathered);
    gathered = NULL;
}
