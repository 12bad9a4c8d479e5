/* SPDX-License-Identifier: MIT */
/* bufenlarge_summary.h: what a process reports in MPI_Finalize, and the functions that print the reports. */
#ifndef BUFENLARGE_SUMMARY_H_INCLUDED
#define BUFENLARGE_SUMMARY_H_INCLUDED

#include "bufenlarge_impl.h"

/* Messages whose data the receiver read. */
typedef struct {
    uint64_t reads;             /* messages */
    uint64_t read_bytes;        /* without a copy, counted by the reader */
    uint64_t response_bytes;    /* the same, counted at the source */
    uint64_t fragment_bytes;    /* through rings, counted by both */
    uint64_t by_immediate;      /* reads whose end came as immediate data */
    uint64_t by_message;        /* reads whose end came as a message */
    uint64_t registrations;     /* of user memory */
    uint64_t registered_bytes_max;      /* of user memory, at one time */
    uint64_t refused;           /* registrations of user memory that were refused or would not pay */
} MPIDI_BUFENLARGE_rendezvous_t;

typedef struct {
    uint32_t vci;
    bufenlarge_channel_stats_t stats;
} MPIDI_BUFENLARGE_channel_report_t;

/* Sent to rank 0 as it is: all processes of a job have the same byte order and MPICH. */
typedef struct {
    uint32_t report_bytes;      /* this structure and its channels */
    uint32_t rank;
    uint32_t channels_failed;
    uint32_t connects_refused;
    uint32_t connects_crossed;
    uint32_t connections_most;  /* at one time, of the VCI that had most */
    uint32_t connections_max;   /* that a VCI may have; 0: no bound */
    uint64_t connections_closed;        /* by agreement */
    uint64_t connections_reopened;
    uint32_t channel_count;     /* of the array, of all VCIs; also counts channels that never connected */
    uint64_t registered_bytes;
    uint64_t registered_bytes_max;
    uint64_t registrations;
    uint64_t deregistrations;
    char provider[32];
    char protocol[48];
    char interface_name[64];
    char address[64];
    char arrival[16];
    char arrival_reason[144];
    char connections_reason[144];
    char memory_basis[48];
    MPIDI_BUFENLARGE_rendezvous_t rendezvous;
    bufenlarge_peer_memory_t peer_memory;       /* on one VCI; its text is memory_basis */
    MPIDI_BUFENLARGE_channel_report_t channels[];
} MPIDI_BUFENLARGE_report_t;

/* Sums over the reports that arrived. A channel counts at both its ends, as its memory does. */
typedef struct {
    uint64_t reports;
    uint64_t channels;          /* connected */
    uint64_t directions_enlarged;
    uint64_t messages;          /* sent */
    uint64_t bytes;
    uint64_t ring_bytes;
    uint64_t ring_bytes_max;
    uint64_t ring_bytes_all_large;      /* had each connected channel the largest rings; 0: unknown */
    uint64_t registrations;
    uint64_t deregistrations;
    uint64_t channels_failed;
    uint64_t connects_refused;
    uint64_t connects_crossed;
    uint64_t connections_most;  /* of the VCI that had most */
    uint64_t connections_closed;
    uint64_t connections_reopened;
    MPIDI_BUFENLARGE_rendezvous_t rendezvous;   /* registered_bytes_max: of the process that had most */
} MPIDI_BUFENLARGE_totals_t;

/* `reports` has one entry per rank; NULL where none arrived. */
void MPIDI_BUFENLARGE_summary_table(MPIDI_BUFENLARGE_report_t ** reports, int size,
                                    const MPIDI_BUFENLARGE_totals_t * totals);
void MPIDI_BUFENLARGE_summary_json(const char *path, MPIDI_BUFENLARGE_report_t ** reports, int size,
                                   const MPIDI_BUFENLARGE_totals_t * totals);

#endif /* BUFENLARGE_SUMMARY_H_INCLUDED */
