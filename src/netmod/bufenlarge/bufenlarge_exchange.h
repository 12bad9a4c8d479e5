/* SPDX-License-Identifier: MIT */
/* bufenlarge_exchange.h: what the processes tell each other in MPI_Init, through the process manager. */
#ifndef BUFENLARGE_EXCHANGE_H_INCLUDED
#define BUFENLARGE_EXCHANGE_H_INCLUDED

#include "bufenlarge_impl.h"

/* The share of the entries that a process gets. */
typedef struct {
    int begin, end;             /* their ranks */
    uint64_t *digests;          /* theirs; 0: the process cannot start */
    uint64_t own;
} MPIDI_BUFENLARGE_share_t;

/* bufenlarge_pmi.c */
size_t MPIDI_BUFENLARGE_pmi_part_bytes(void);
int MPIDI_BUFENLARGE_pmi_put(const char *name, const void *data, size_t bytes);
int MPIDI_BUFENLARGE_pmi_get(const char *name, int rank, void *data, size_t bytes, size_t * got_p);
int MPIDI_BUFENLARGE_job_key_put(void);
int MPIDI_BUFENLARGE_job_key_get(void);

/* bufenlarge_agreement.c */
void MPIDI_BUFENLARGE_agreement(char *text, size_t bytes);
uint64_t MPIDI_BUFENLARGE_digest(const char *text);
int MPIDI_BUFENLARGE_count_odd(const MPIDI_BUFENLARGE_share_t * share, int *odd_p, int *count_p);
int MPIDI_BUFENLARGE_refuse(int odd, int count);

/* bufenlarge_shm_room.c */
void MPIDI_BUFENLARGE_shm_warn(void);

/* bufenlarge_exchange.c */
int MPIDI_BUFENLARGE_exchange(int start_errno);
int MPIDI_BUFENLARGE_addresses_free(void);

#endif /* BUFENLARGE_EXCHANGE_H_INCLUDED */
