/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_failure.h: processes that have failed, and what MPI says of them (MPICH's ULFM functions). A process has
 * failed when its connection was lost, when it cannot be reached, or when the process manager says that it has ended.
 *
 *   bufenlarge_failure.c         which have failed
 *   bufenlarge_revoked.c         communicators that are revoked
 *   bufenlarge_revoked_early.c   what others have revoked before it is here
 *   bufenlarge_failure_errors.c  the error of what waits in vain
 *   bufenlarge_failure_end.c     ends the receives, requests and synchronizations that do
 *   bufenlarge_late_answers.c    answers to what a revocation has ended
 *   bufenlarge_ulfm.c            MPICH's functions of ULFM
 *   bufenlarge_consensus.c       processes agree on which of them have failed; bufenlarge_meeting.c says for whom
 */
#ifndef BUFENLARGE_FAILURE_H_INCLUDED
#define BUFENLARGE_FAILURE_H_INCLUDED

#include "bufenlarge_impl.h"

/* bufenlarge_failure.c */

/* Notes a failed process for all VCIs. To be called with the lock of the VCI that has found it; any number of times. */
void MPIDI_BUFENLARGE_failure_note(MPIDI_BUFENLARGE_vci_t * vci, const MPIDI_BUFENLARGE_peer_t * peer);
/* The process with this number, of another job, is forgotten, and its number will be that of another one. */
void MPIDI_BUFENLARGE_failure_forget(uint32_t number);
/* To be called by progress while vci->watches: learns what other VCIs and the process manager have found. Returns
 * whether it is time to end what waits in vain. */
bool MPIDI_BUFENLARGE_failure_progress(MPIDI_BUFENLARGE_vci_t * vci);
/* The process manager has sent a signal, and was not asked since which processes have ended. */
bool MPIDI_BUFENLARGE_failure_is_to_be_asked(void);
/* From now on progress ends what waits in vain. `closely`: there is a failed process, or a revoked communicator. Else
 * there is another job, of whose processes nobody says that they have failed. */
void MPIDI_BUFENLARGE_failure_watch(bool closely);
/* How many of MPIDI_BUFENLARGE_failures are of the own job. */
extern int MPIDI_BUFENLARGE_own_failures;
/* Returns how many processes have failed. */
int MPIDI_BUFENLARGE_failure_count(void);

/* Sets is_failed[rank] for the members among the first `count` failures, and clears the others. Without a communicator
 * the members are the processes of the job. */
void MPIDI_BUFENLARGE_failed_members(MPIR_Comm * comm, int count, bool * is_failed);
/* To be called when the contexts are closed. */
void MPIDI_BUFENLARGE_failures_free(void);

/* Returns the number of the process that a rank of a communicator is. */
MPL_STATIC_INLINE_PREFIX uint32_t MPIDI_BUFENLARGE_number_of(MPIR_Comm * comm, int rank)
{
    return MPIDIU_comm_rank_to_av(comm, rank)->netmod.bufenlarge.number;
}

/* bufenlarge_revoked.c */

/* Marks the communicator as revoked, and tells all its members. With the first VCI's lock. */
void MPIDI_BUFENLARGE_revoke(MPIR_Comm * comm);
/* The communicator is about to be used: it is revoked when it is that of a group of a revoked intercommunicator. */
void MPIDI_BUFENLARGE_revoked_inherit(MPIR_Comm * comm);
/* Whether messages with this context are of a communicator that was revoked, and may have been freed since. */
bool MPIDI_BUFENLARGE_is_revoked(uint32_t context_id);
/* Whether what waits in the communicator ends: it is revoked, or the one is in which it is made. */
bool MPIDI_BUFENLARGE_is_ended(const MPIR_Comm * comm);
/* Whether any communicator was. With or without a lock. */
bool MPIDI_BUFENLARGE_any_revoked(void);
/* To be called when the contexts are closed. */
void MPIDI_BUFENLARGE_revoked_free(void);

/* bufenlarge_revoked_early.c, with the first VCI's lock */

/* The process with this number has revoked the communicator whose messages have this context here, or will have it:
 * this process may still be making it. */
void MPIDI_BUFENLARGE_revoke_arrived(uint32_t number, uint32_t context_id);
/* To be called by progress of the first VCI while it watches: revokes what others have revoked before it was there. */
void MPIDI_BUFENLARGE_revoked_early_progress(void);
/* The process with this number, of another job, is forgotten, and its number will be that of another one. */
void MPIDI_BUFENLARGE_revoked_early_forget(uint32_t number);
/* To be called when the contexts are closed. */
void MPIDI_BUFENLARGE_revoked_early_free(void);

/* bufenlarge_failure_errors.c, with the lock of the VCI */

/* The error of what waits for this rank: MPI_SUCCESS for a negative one, and unless it is known to have failed. */
int MPIDI_BUFENLARGE_rank_error(const MPIDI_BUFENLARGE_vci_t * vci, MPIR_Comm * comm, int rank);
/* The error of what waits for all processes of a communicator, or of the own group of an intercommunicator. */
int MPIDI_BUFENLARGE_members_error(const MPIDI_BUFENLARGE_vci_t * vci, MPIR_Comm * comm);
/* The error of what waits for any process of the communicator, until all failures are acknowledged. */
int MPIDI_BUFENLARGE_any_source_error(MPIR_Comm * comm);
/* The error of what waits in a communicator that was revoked. */
int MPIDI_BUFENLARGE_revoked_error(void);

/* bufenlarge_failure_end.c */

/* Ends all receives and requests of this VCI that wait for a failed process or in a revoked communicator. */
void MPIDI_BUFENLARGE_failure_end(MPIDI_BUFENLARGE_vci_t * vci);

/* bufenlarge_rendezvous_recv.c */

/* Gives the data of unexpected rendezvous messages of revoked communicators back to their senders, who wait for that:
 * nobody receives them any more. */
void MPIDI_BUFENLARGE_give_back(const MPIDI_BUFENLARGE_vci_t * vci);

/* bufenlarge_late_answers.c */

/* Keeps a request that is about to be ended until another process has sent so many answers to it, which are dropped. To
 * be called with the lock of its VCI. */
void MPIDI_BUFENLARGE_keep_ended(MPIR_Request * request, int answers);
/* When data of a receive that is about to be ended comes through shared memory: what is left of it will be thrown away.
 * Returns whether it does. To be called with the lock of its VCI. */
bool MPIDI_BUFENLARGE_discard_rest(MPIR_Request * rreq);
/* To be called when no answer can come any more, and the contexts are open: it may free communicators. */
void MPIDI_BUFENLARGE_ended_free(void);

/* bufenlarge_backlog.c */

/* Gives the request of a message that is given up its error. The data of a partitioned send has a request of its own,
 * beside the user's. */
void MPIDI_BUFENLARGE_note_error(MPIR_Request * sreq, int handler_id, int error);

/* bufenlarge_meeting.c, and in bufenlarge_consensus.c what arrives */

/* All members call it, in the same order as the other agreements of the communicator, which has one group. *word_p is
 * the own word, and then that of all: each bit is set that all have set. is_failed has room for each member. */
int MPIDI_BUFENLARGE_consensus(MPIR_Comm * comm, uint32_t * word_p, bool * all_known_p, bool * is_failed);
/* The messages by which the members of a communicator make one without those that have failed have tags of their own
 * for each attempt. */
int MPIDI_BUFENLARGE_repair_tag(MPIR_Comm * comm);
/* The communicator of the attempt that the calling thread makes; NULL when it makes none. */
extern __thread MPIR_Comm *MPIDI_BUFENLARGE_repaired;
/* The current attempt has failed in this process: all others are told, so that none waits for it. */
void MPIDI_BUFENLARGE_repair_give_up(MPIR_Comm * comm);
/* One look at whether all processes of the job that have not failed have called this, in MPI_Finalize. */
bool MPIDI_BUFENLARGE_survivors_met(void);
/* Another process of the job wants to meet this one there. */
bool MPIDI_BUFENLARGE_survivors_wait(void);
/* Takes a message of another process about the communicator with this context. Returns what is wrong with it. */
const char *MPIDI_BUFENLARGE_consensus_arrived(uint32_t context_id, const void *data, size_t bytes);
/* The communicator is about to be freed. */
void MPIDI_BUFENLARGE_consensus_forget(MPIR_Comm * comm);
/* To be called when the contexts are closed. */
void MPIDI_BUFENLARGE_consensus_free(void);

#endif /* BUFENLARGE_FAILURE_H_INCLUDED */
