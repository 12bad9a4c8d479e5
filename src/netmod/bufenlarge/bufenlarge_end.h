/* SPDX-License-Identifier: MIT */
/* bufenlarge_end.h: what processes tell each other in MPI_Finalize. */
#ifndef BUFENLARGE_END_H_INCLUDED
#define BUFENLARGE_END_H_INCLUDED

#include "bufenlarge_impl.h"

/* bufenlarge_disconnect.c */
void MPIDI_BUFENLARGE_disconnect_arrived(MPIDI_BUFENLARGE_peer_t * peer, uint32_t what);
bool MPIDI_BUFENLARGE_disconnect_send(MPIDI_BUFENLARGE_vci_t * vci);
bool MPIDI_BUFENLARGE_disconnect_done(const MPIDI_BUFENLARGE_vci_t * vci, const MPL_time_t * begin);

/* bufenlarge_collect.c */
void MPIDI_BUFENLARGE_report_take(void);
void MPIDI_BUFENLARGE_report_send(void);
bool MPIDI_BUFENLARGE_report_is_awaited(uint32_t rank);
void MPIDI_BUFENLARGE_report_arrived(uint32_t child, const void *data, size_t bytes);
bool MPIDI_BUFENLARGE_report_missing(void);
unsigned MPIDI_BUFENLARGE_report_height(void);
void MPIDI_BUFENLARGE_report_print(void);

#endif /* BUFENLARGE_END_H_INCLUDED */
