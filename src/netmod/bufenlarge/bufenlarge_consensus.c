/* SPDX-License-Identifier: MIT */
/*
 * bufenlarge_consensus.c: the members of a communicator agree on which of them have failed, on which of these failures
 * all have acknowledged, and on a word, although more fail meanwhile. MPIX_Comm_agree is one such agreement,
 * MPIX_Comm_shrink two, and the survivors of a job meet by one in MPI_Finalize.
 *
 * The coordinator is the member of lowest rank that has not failed. Every other member sends it what it knows. When the
 * coordinator has heard of all that have not failed, for itself or for another member, it sends the union of the
 * failures, and the intersection of the rest, to all: the decision.
 *
 * When the coordinator fails, the next member of lowest rank takes its place. The members that wait send to it, and it
 * sends what it knows to all, since one of them may have the decision already: such a member answers with the decision,
 * which the new coordinator then sends on. So no two members that live on decide differently. A member keeps its last
 * two decisions: it cannot be two consensuses ahead of another one.
 *
 * In MPI_Finalize the first coordinator, too, sends what it knows to all: a process that has learned of no failure
 * waits for the process manager then, and takes no part until it is told.
 */
#include "mpidimpl.h"
#include "bufenlarge_consensus.h"
#include "utlist.h"

typedef MPIDI_BUFENLARGE_decision_t decision_t;
typedef MPIDI_BUFENLARGE_consensus_t consensus_t;

/* Begins the data of a message. A bit for each member follows, set for those that have failed, and another one, set for
 * those that are acknowledged. */
typedef struct {
    uint32_t sequence;          /* of the agreement, in its communicator */
    int32_t rank;               /* of the sender */
    uint32_t is_decision;       /* otherwise it is what the sender knows */
    uint32_t size;              /* members */
    uint32_t word;
} head_t;

typedef struct arrived {
    struct arrived *next, *prev;
    uint32_t context_id;
    head_t head;
    unsigned char bits[];
} arrived_t;

/* Guarded by the first VCI's lock. */
static arrived_t *inbox;
static consensus_t *consensuses;

static size_t row_bytes(uint32_t size)
{
    return MPIDI_BUFENLARGE_row_bytes(size);
}

static size_t bit_bytes(uint32_t size)
{
    return 2 * row_bytes(size);
}

static void set_bits(unsigned char *bits, const bool * values, int size)
{
    for (int rank = 0; rank < size; rank++)
        bits[rank / 8] |= (unsigned char) (values[rank] << (rank % 8));
}

/* Adds what another member knows. */
static void unite(decision_t * decision, const arrived_t * arrived)
{
    const size_t row = row_bytes(arrived->head.size);
    decision->word &= arrived->head.word;
    for (size_t i = 0; i < row; i++) {
        decision->bits[i] |= arrived->bits[i];
        decision->bits[row + i] &= arrived->bits[row + i];
    }
}

/* -- messages -- */

static void send_to(const consensus_t * consensus, const decision_t * decision, int rank)
{
    const uint32_t size = consensus->size;
    const size_t bytes = sizeof(head_t) + bit_bytes(size);
    const uint32_t number = consensus->comm ? MPIDI_BUFENLARGE_number_of(consensus->comm, rank) : (uint32_t) rank;
    MPIDI_BUFENLARGE_peer_t *peer = MPIDI_BUFENLARGE_peer_get(MPIDI_BUFENLARGE_main_vci(), number);
    char *message = MPL_malloc(bytes, MPL_MEM_BUFFER);
    MPIR_Assert(peer != NULL && message != NULL);
    const head_t head = {.sequence = decision->sequence,.rank = consensus->rank,.is_decision = decision->made,
        .size = size,.word = decision->word
    };
    memcpy(message, &head, sizeof(head));
    memcpy(message + sizeof(head), decision->bits, bit_bytes(size));
    MPIDI_BUFENLARGE_send_control(peer, MPIDI_BUFENLARGE_KIND_CONSENSUS, consensus->context_id, message, bytes);
    MPL_free(message);
}

/* To all others; is_failed may be NULL. */
static void send_to_all(const consensus_t * consensus, const decision_t * decision, const bool * is_failed)
{
    for (int rank = 0; rank < (int) consensus->size; rank++) {
        if (rank != consensus->rank && !(is_failed && is_failed[rank]))
            send_to(consensus, decision, rank);
    }
}

static bool is_of(const arrived_t * arrived, const consensus_t * consensus)
{
    return arrived->context_id == consensus->context_id && arrived->head.size == consensus->size;
}

/* Returns the decision that this message asks for; NULL when this process has none. */
static const decision_t *decision_for(const consensus_t * consensus, const arrived_t * arrived)
{
    const uint32_t sequence = arrived->head.sequence;
    if (consensus->current.made && consensus->current.sequence == sequence)
        return &consensus->current;
    return consensus->last.made && consensus->last.sequence == sequence ? &consensus->last : NULL;
}

/* Takes a message to a decision that is made: a member that does not have it gets it. Returns false when the message is
 * to be kept. */
static bool answer(const consensus_t * consensus, const arrived_t * arrived)
{
    const decision_t *decision = is_of(arrived, consensus) ? decision_for(consensus, arrived) : NULL;
    if (decision != NULL && !arrived->head.is_decision)
        send_to(consensus, decision, arrived->head.rank);
    return decision != NULL;
}

const char *MPIDI_BUFENLARGE_consensus_arrived(uint32_t context_id, const void *data, size_t bytes)
{
    consensus_t *consensus;
    head_t head;
    if (bytes < sizeof(head))
        return MPIDI_BUFENLARGE_CONTRADICTION;
    memcpy(&head, data, sizeof(head));
    if (head.rank < 0 || bytes - sizeof(head) != bit_bytes(head.size) || (uint32_t) head.rank >= head.size)
        return MPIDI_BUFENLARGE_CONTRADICTION;
    arrived_t *arrived = MPL_malloc(sizeof(*arrived) + bit_bytes(head.size), MPL_MEM_BUFFER);
    if (arrived == NULL)
        return MPIDI_BUFENLARGE_NO_MEMORY;
    arrived->context_id = context_id;
    arrived->head = head;
    memcpy(arrived->bits, (const char *) data + sizeof(head), bit_bytes(head.size));
    DL_FOREACH(consensuses, consensus) {
        if (answer(consensus, arrived)) {
            MPL_free(arrived);
            return NULL;
        }
    }
    DL_APPEND(inbox, arrived);
    return NULL;
}

/* -- one agreement -- */

/* Ends the agreement: those that have asked get the decision. */
static void decide(consensus_t * consensus)
{
    arrived_t *arrived, *after;
    consensus->current.made = true;
    DL_FOREACH_SAFE(inbox, arrived, after) {
        if (!answer(consensus, arrived))
            continue;
        DL_DELETE(inbox, arrived);
        MPL_free(arrived);
    }
}

/* Looks for a decision of another member, and counts those that it has heard of in `heard`. */
static bool take_inbox(consensus_t * consensus, bool * heard)
{
    const uint32_t size = consensus->size;
    arrived_t *arrived;
    memset(heard, 0, size * sizeof(bool));
    DL_FOREACH(inbox, arrived) {
        if (!is_of(arrived, consensus) || arrived->head.sequence != consensus->current.sequence)
            continue;
        if (arrived->head.is_decision) {
            consensus->current.word = arrived->head.word;
            memcpy(consensus->current.bits, arrived->bits, bit_bytes(size));
            return true;
        }
        unite(&consensus->current, arrived);
        heard[arrived->head.rank] = true;
    }
    return false;
}

static void note_failures(consensus_t * consensus, bool * is_failed)
{
    MPIDI_BUFENLARGE_failed_members(consensus->comm, MPIDI_BUFENLARGE_failure_count(), is_failed);
    set_bits(consensus->current.bits, is_failed, (int) consensus->size);
}

/* Of all but those that have failed, for this process or another member: the decision will say so of these. */
static bool has_heard_all(const consensus_t * consensus, const bool * heard)
{
    for (int rank = 0; rank < (int) consensus->size; rank++) {
        const bool has_failed = (consensus->current.bits[rank / 8] >> (rank % 8) & 1) != 0;
        if (rank != consensus->rank && !has_failed && !heard[rank])
            return false;
    }
    return true;
}

void MPIDI_BUFENLARGE_consensus_advance(consensus_t * consensus, bool * is_failed, bool * heard, int *asked_p)
{
    const int rank = consensus->rank;
    int coordinator = 0;
    const bool decided = take_inbox(consensus, heard);
    if (!decided)
        note_failures(consensus, is_failed);
    while (coordinator != rank && is_failed[coordinator])
        coordinator++;
    if (!decided && coordinator != *asked_p) {
        *asked_p = coordinator;
        if (coordinator != rank)
            send_to(consensus, &consensus->current, coordinator);
        else if (rank > 0 || consensus->comm == NULL)
            send_to_all(consensus, &consensus->current, is_failed);
    }
    if (!decided && (coordinator != rank || !has_heard_all(consensus, heard)))
        return;
    decide(consensus);
    if (coordinator == rank)
        send_to_all(consensus, &consensus->current, is_failed);
}

/* A warning is what a member knows at the beginning of the next agreement, which is as good as nothing. */
void MPIDI_BUFENLARGE_consensus_warn(consensus_t * consensus)
{
    decision_t next = {.sequence = consensus->current.sequence + 1,.bits = MPL_calloc(1, bit_bytes(consensus->size),
                                                                                    MPL_MEM_COMM)
    };
    MPIR_Assert(next.bits != NULL);
    send_to_all(consensus, &next, NULL);
    MPL_free(next.bits);
}

bool MPIDI_BUFENLARGE_consensus_is_warned(const consensus_t * consensus)
{
    const arrived_t *arrived;
    DL_FOREACH(inbox, arrived) {
        if (is_of(arrived, consensus) && arrived->head.sequence == consensus->current.sequence + 1
            && !arrived->head.is_decision && arrived->head.word == 0)
            return true;
    }
    return false;
}

/* -- their life -- */

consensus_t *MPIDI_BUFENLARGE_consensus_create(MPIR_Comm * comm)
{
    consensus_t *consensus = MPL_calloc(1, sizeof(*consensus), MPL_MEM_COMM);
    MPIR_Assert(consensus != NULL);
    consensus->comm = comm;
    consensus->context_id = comm ? comm->context_id : MPIDI_BUFENLARGE_FINALIZE_CONTEXT;
    consensus->size = (uint32_t) (comm ? comm->local_size : MPIR_Process.size);
    consensus->rank = comm ? comm->rank : MPIR_Process.rank;
    DL_APPEND(consensuses, consensus);
    return consensus;
}

void MPIDI_BUFENLARGE_consensus_begin(consensus_t * consensus, uint32_t word, const bool * acknowledged)
{
    MPL_free(consensus->last.bits);
    consensus->last = consensus->current;
    consensus->current = (decision_t) {.sequence = consensus->last.sequence + 1,.word = word,
        .bits = MPL_calloc(1, bit_bytes(consensus->size), MPL_MEM_COMM)
    };
    MPIR_Assert(consensus->current.bits != NULL);
    set_bits(consensus->current.bits + row_bytes(consensus->size), acknowledged, (int) consensus->size);
}

/* Forgets what has come for an agreement, or (NULL) all. */
static void purge(const consensus_t * consensus)
{
    arrived_t *arrived, *after;
    DL_FOREACH_SAFE(inbox, arrived, after) {
        if (consensus == NULL || is_of(arrived, consensus)) {
            DL_DELETE(inbox, arrived);
            MPL_free(arrived);
        }
    }
}

void MPIDI_BUFENLARGE_consensus_destroy(consensus_t * consensus)
{
    purge(consensus);
    DL_DELETE(consensuses, consensus);
    MPL_free(consensus->current.bits);
    MPL_free(consensus->last.bits);
    MPL_free(consensus);
}

bool MPIDI_BUFENLARGE_consensus_is_waited_for(uint32_t context_id)
{
    const arrived_t *arrived;
    DL_SEARCH_SCALAR(inbox, arrived, context_id, context_id);
    return arrived != NULL;
}

void MPIDI_BUFENLARGE_consensus_clear(void)
{
    purge(NULL);
}
