/* SPDX-License-Identifier: MIT */
/* bufenlarge_consensus.h: an agreement of processes, in two files: how it is reached, and for whom. */
#ifndef BUFENLARGE_CONSENSUS_H_INCLUDED
#define BUFENLARGE_CONSENSUS_H_INCLUDED

#include "bufenlarge_failure.h"

typedef struct {
    uint32_t sequence;
    bool made;
    uint32_t word;              /* what this process knows, as the next; the decision when it is made */
    unsigned char *bits;        /* as in a message */
} MPIDI_BUFENLARGE_decision_t;

typedef struct MPIDI_BUFENLARGE_consensus {
    struct MPIDI_BUFENLARGE_consensus *next, *prev;
    MPIR_Comm *comm;            /* NULL: the processes of the job, by number, in MPI_Finalize */
    uint32_t context_id;        /* in messages from and to other members */
    uint32_t size;
    int rank;
    MPIDI_BUFENLARGE_decision_t current, last;
} MPIDI_BUFENLARGE_consensus_t;

/* No communicator has it. */
#define MPIDI_BUFENLARGE_FINALIZE_CONTEXT UINT32_MAX

/* Bytes of a bit for each member. */
MPL_STATIC_INLINE_PREFIX size_t MPIDI_BUFENLARGE_row_bytes(uint32_t size)
{
    return ((size_t) size + 7) / 8;
}

/* bufenlarge_consensus.c; all with the first VCI's lock */

/* comm may be NULL. */
MPIDI_BUFENLARGE_consensus_t *MPIDI_BUFENLARGE_consensus_create(MPIR_Comm * comm);
/* Begins the next agreement, with the own word, and the members whose failure is acknowledged. */
void MPIDI_BUFENLARGE_consensus_begin(MPIDI_BUFENLARGE_consensus_t * consensus, uint32_t word,
                                      const bool * acknowledged);
/* One look at what has come; current.made says whether there is a decision. is_failed and heard have room for each
 * member. *asked_p is the coordinator that has been told what this process knows; -1 at first. */
void MPIDI_BUFENLARGE_consensus_advance(MPIDI_BUFENLARGE_consensus_t * consensus, bool * is_failed, bool * heard,
                                        int *asked_p);
/* Tells all others what will be the own word of the next agreement, all bits 0. */
void MPIDI_BUFENLARGE_consensus_warn(MPIDI_BUFENLARGE_consensus_t * consensus);
/* Another member has done so. */
bool MPIDI_BUFENLARGE_consensus_is_warned(const MPIDI_BUFENLARGE_consensus_t * consensus);
void MPIDI_BUFENLARGE_consensus_destroy(MPIDI_BUFENLARGE_consensus_t * consensus);
/* Another member has sent something that is not used yet. */
bool MPIDI_BUFENLARGE_consensus_is_waited_for(uint32_t context_id);
/* Forgets all that has come. */
void MPIDI_BUFENLARGE_consensus_clear(void);

/* Tags of the messages that make a communicator without those that have failed. MPICH adds a bit to them that no
 * program can set. None of its collective operations uses them; so many attempts later a tag is used again. */
#define MPIDI_BUFENLARGE_REPAIR_TAG 0x700000
#define MPIDI_BUFENLARGE_REPAIR_ATTEMPTS 0x10000

MPL_STATIC_INLINE_PREFIX bool MPIDI_BUFENLARGE_is_repair_tag(int tag)
{
    const int attempt = MPIR_TAG_MASK_ERROR_BITS(tag) - (MPIR_TAG_COLL_BIT | MPIDI_BUFENLARGE_REPAIR_TAG);
    return attempt >= 0 && attempt < MPIDI_BUFENLARGE_REPAIR_ATTEMPTS;
}

/* Another member has said that the current attempt has failed. */
MPL_STATIC_INLINE_PREFIX bool MPIDI_BUFENLARGE_repair_is_given_up(MPIR_Comm * comm)
{
    const MPIDI_BUFENLARGE_consensus_t *consensus = MPIDI_COMM(comm, netmod.bufenlarge).consensus;
    return consensus != NULL && MPIDI_BUFENLARGE_consensus_is_warned(consensus);
}

#endif /* BUFENLARGE_CONSENSUS_H_INCLUDED */
