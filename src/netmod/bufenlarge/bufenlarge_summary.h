/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_summary.h: what a process reports in MPI_Finalize, and the functions that print the reports.
 *
 * A process sends its parent in a tree (bufenlarge_tree.h) one message: the totals of all processes below it, itself
 * included, and, in a job of at most SUMMARY_PROCESSES processes, the reports of these.
 */
#ifndef BUFENLARGE_SUMMARY_H_INCLUDED
#define BUFENLARGE_SUMMARY_H_INCLUDED

#include "bufenlarge_impl.h"
#include "bufenlarge_totals.h"

typedef struct {
    uint32_t vci;
    bufenlarge_channel_stats_t stats;
} MPIDI_BUFENLARGE_channel_report_t;

/* What comes to rank 0 of one process. Sent as it is: all processes of a job have the same byte order and MPICH. */
typedef struct {
    uint32_t report_bytes;      /* this structure and its channels */
    uint32_t rank;
    uint32_t connections_max;   /* that a VCI may have; 0: no bound */
    uint32_t channel_count;     /* of the array, of all VCIs; also counts channels that never connected */
    uint64_t pinned_bytes_max;  /* that the process may pin; 0: no limit */
    uint64_t registered_bytes;
    uint64_t registered_bytes_max;
    char provider[32];
    char protocol[48];
    char interface_name[64];
    char address[64];
    char host[64];
    char arrival[16];
    char arrival_reason[144];
    char connections_reason[144];
    char pinned_reason[144];
    char memory_basis[48];
    MPIDI_BUFENLARGE_counts_t counts;   /* of all VCIs */
    bufenlarge_peer_memory_t peer_memory;       /* on one VCI; its text is memory_basis */
    MPIDI_BUFENLARGE_channel_report_t channels[];
} MPIDI_BUFENLARGE_report_t;

/* Begins a message; the reports follow, one behind the other. */
typedef struct {
    uint64_t bytes;             /* of the message */
    MPIDI_BUFENLARGE_totals_t totals;
} MPIDI_BUFENLARGE_gathered_t;

/* All that rank 0 prints. */
typedef struct {
    int size;                   /* processes of the job */
    bool has_channels;          /* the processes sent their reports, too */
    const MPIDI_BUFENLARGE_report_t *own;       /* of rank 0, perhaps without channels */
    const MPIDI_BUFENLARGE_report_t **reports;  /* one entry per rank, NULL where none arrived; NULL without channels */
    const MPIDI_BUFENLARGE_totals_t *totals;
    uint64_t ring_bytes_all_large;      /* had each connected channel the largest rings; 0: unknown */
} MPIDI_BUFENLARGE_summary_t;

/* The distributions of the totals, by name. */
typedef struct {
    const char *name;           /* in JSON */
    const char *title;
    size_t offset;              /* in MPIDI_BUFENLARGE_totals_t */
} MPIDI_BUFENLARGE_distribution_row_t;

#define MPIDI_BUFENLARGE_DISTRIBUTIONS 5
extern const MPIDI_BUFENLARGE_distribution_row_t MPIDI_BUFENLARGE_distribution_rows[MPIDI_BUFENLARGE_DISTRIBUTIONS];

MPL_STATIC_INLINE_PREFIX const MPIDI_BUFENLARGE_distribution_t *MPIDI_BUFENLARGE_distribution_of(
    const MPIDI_BUFENLARGE_totals_t * totals, const MPIDI_BUFENLARGE_distribution_row_t * row)
{
    return (const MPIDI_BUFENLARGE_distribution_t *) ((const char *) totals + row->offset);
}

/* bufenlarge_report.c */
MPIDI_BUFENLARGE_report_t *MPIDI_BUFENLARGE_report_make(bool with_channels);
void MPIDI_BUFENLARGE_totals_of_process(MPIDI_BUFENLARGE_totals_t * totals);

/* bufenlarge_summary.c, bufenlarge_summary_json.c */
void MPIDI_BUFENLARGE_summary_table(const MPIDI_BUFENLARGE_summary_t * summary);
void MPIDI_BUFENLARGE_summary_json(const char *path, const MPIDI_BUFENLARGE_summary_t * summary);

#endif /* BUFENLARGE_SUMMARY_H_INCLUDED */
