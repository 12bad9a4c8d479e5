/* SPDX-License-Identifier: MIT */
/* bufenlarge_members.h: the communicators of this process, and what a process of another job may send
 * (bufenlarge_members.c). */
#ifndef BUFENLARGE_MEMBERS_H_INCLUDED
#define BUFENLARGE_MEMBERS_H_INCLUDED

#include "bufenlarge_impl.h"

/* To be called when MPI begins, when a communicator is complete, and when it is freed. */
void MPIDI_BUFENLARGE_members_reset(void);
void MPIDI_BUFENLARGE_members_begin(MPIR_Comm * comm);
void MPIDI_BUFENLARGE_members_end(MPIR_Comm * comm);

/* How often they have changed. With or without a lock. */
unsigned MPIDI_BUFENLARGE_members_changes(void);

/* Revokes the communicator that receives in this context and has this process; returns whether there is one. With the
 * first VCI's lock. */
bool MPIDI_BUFENLARGE_members_revoke(uint32_t number, uint32_t context_id);

/* Both return what is wrong with a message of a process of another job; NULL when nothing is. With the first VCI's
 * lock: such messages come there only. */
const char *MPIDI_BUFENLARGE_check_sender(uint32_t number, uint32_t context_id, int rank);
const char *MPIDI_BUFENLARGE_check_other_job(uint32_t number, const MPIDI_BUFENLARGE_wire_t * wire, const void *am_hdr);

#endif /* BUFENLARGE_MEMBERS_H_INCLUDED */
