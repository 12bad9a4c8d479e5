/* SPDX-License-Identifier: MIT */
/* bufenlarge_exchange.h: what the processes tell each other in MPI_Init, through the process manager. */
#ifndef BUFENLARGE_EXCHANGE_H_INCLUDED
#define BUFENLARGE_EXCHANGE_H_INCLUDED

#include "bufenlarge_impl.h"

/* One of two processes that the error about unequal processes names. */
typedef struct {
    int rank;
    bool failed;                /* it cannot start */
    char host[64];
    char text[BUFENLARGE_MESSAGE_BYTES];        /* what has to be equal; or why it cannot start */
} MPIDI_BUFENLARGE_starter_t;

/* bufenlarge_pmi.c */
size_t MPIDI_BUFENLARGE_pmi_part_bytes(void);
int MPIDI_BUFENLARGE_pmi_put(const char *name, const void *data, size_t bytes);
int MPIDI_BUFENLARGE_pmi_get(const char *name, int rank, void *data, size_t bytes, size_t * got_p);
int MPIDI_BUFENLARGE_job_key_put(void);
int MPIDI_BUFENLARGE_job_key_get(void);

/* bufenlarge_agreement.c */
void MPIDI_BUFENLARGE_agreement(char *text, size_t bytes);
uint64_t MPIDI_BUFENLARGE_digest(const char *text);
int MPIDI_BUFENLARGE_starter_put(void);
int MPIDI_BUFENLARGE_starter_get(MPIDI_BUFENLARGE_starter_t * starter, int rank, bool failed);
int MPIDI_BUFENLARGE_disagreement(const MPIDI_BUFENLARGE_starter_t * odd, const MPIDI_BUFENLARGE_starter_t * other,
                                  int count);

/* bufenlarge_exchange.c */
int MPIDI_BUFENLARGE_exchange(int start_errno);

#endif /* BUFENLARGE_EXCHANGE_H_INCLUDED */
