/* SPDX-License-Identifier: MIT */
/* bufenlarge_exchange.h: what the processes tell each other in MPI_Init, through the process manager. */
#ifndef BUFENLARGE_EXCHANGE_H_INCLUDED
#define BUFENLARGE_EXCHANGE_H_INCLUDED

#include "bufenlarge_impl.h"

/* bufenlarge_pmi.c */
size_t MPIDI_BUFENLARGE_pmi_part_bytes(void);
int MPIDI_BUFENLARGE_pmi_put(const char *name, const void *data, size_t bytes);
int MPIDI_BUFENLARGE_pmi_get(const char *name, int rank, void *data, size_t bytes, size_t * got_p);
int MPIDI_BUFENLARGE_job_key_put(void);
int MPIDI_BUFENLARGE_job_key_get(void);

#endif /* BUFENLARGE_EXCHANGE_H_INCLUDED */
