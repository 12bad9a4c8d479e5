/* SPDX-License-Identifier: MIT */
/* random_actions.c: see random_actions.h. */
#include "random_actions.h"

#include "support.h"

enum {
    UNMATCHED_TAG = 32767, /* the least upper bound MPI allows; no plan reaches it */
    UNMATCHED_BYTES = 16
};

static int is_ordered(enum match match)
{
    return match == MATCH_ANY_TAG || match == MATCH_ANY;
}

static int tag_of(const plan_t *plan, int index)
{
    return plan->tag_base + index;
}

static uint64_t key_of(const plan_t *plan, int index)
{
    const message_t *message = &plan->messages[index];
    return pattern_key(test_options.seed, message->source, message->dest, tag_of(plan, index), 0);
}

static int source_wanted(const message_t *message)
{
    int any = message->match == MATCH_ANY_SOURCE || message->match == MATCH_ANY;
    return any ? MPI_ANY_SOURCE : message->source;
}

static int tag_wanted(const plan_t *plan, int index)
{
    return is_ordered(plan->messages[index].match) ? MPI_ANY_TAG : tag_of(plan, index);
}

/* ---- sending ---------------------------------------------------------------------------------- */

typedef int send_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

void action_start_send(round_t *round, action_t *action)
{
    static send_fn *const plain[] = { MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend };
    static send_fn *const persistent[] = { MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init,
                                           MPI_Rsend_init };
    enum match match = round->plan.messages[action->index].match;
    if (is_ordered(match))
        action->index = round->send_queue[match][round->send_queue_next[match]++];
    const message_t *message = &round->plan.messages[action->index];
    send_fn *send = (message->persistent_send ? persistent : plain)[message->send_mode];
    action->data = pattern_alloc(message->bytes, key_of(&round->plan, action->index));
    send(action->data, (int) message->bytes, MPI_BYTE, message->dest,
         tag_of(&round->plan, action->index), round->comms[match], &action->request);
    if (message->persistent_send)
        MPI_Start(&action->request);
}

/* ---- receiving -------------------------------------------------------------------------------- */

void action_post_receive(round_t *round, action_t *action)
{
    const plan_t *plan = &round->plan;
    const message_t *message = &plan->messages[action->index];
    int wild = is_ordered(message->match);
    size_t bytes = wild ? plan_bytes_max(plan, test_rank, message->match) : message->bytes;
    action->data = guarded_alloc(bytes);
    action->order = ++round->next_order;
    if (message->persistent_receive) {
        MPI_Recv_init(action->data, (int) bytes, MPI_BYTE, source_wanted(message),
                      tag_wanted(plan, action->index), round->comms[message->match],
                      &action->request);
        MPI_Start(&action->request);
    } else {
        MPI_Irecv(action->data, (int) bytes, MPI_BYTE, source_wanted(message),
                  tag_wanted(plan, action->index), round->comms[message->match],
                  &action->request);
    }
}

int action_try_probe(round_t *round, action_t *action)
{
    const message_t *message = &round->plan.messages[action->index];
    int matched_probe = message->receive_mode == RECEIVE_MPROBE;
    int source = source_wanted(message), tag = tag_wanted(&round->plan, action->index);
    MPI_Comm comm = round->comms[message->match];
    MPI_Status status;
    MPI_Message handle;
    int found, count;
    if (matched_probe)
        MPI_Improbe(source, tag, comm, &found, &handle, &status);
    else
        MPI_Iprobe(source, tag, comm, &found, &status);
    if (!found)
        return 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    action->data = guarded_alloc((size_t) count);
    action->order = ++round->next_order;
    if (matched_probe)
        MPI_Imrecv(action->data, count, MPI_BYTE, &handle, &action->request);
    else
        MPI_Irecv(action->data, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm,
                  &action->request);
    return 1;
}

void action_accept(round_t *round, action_t *action, const MPI_Status *status)
{
    const plan_t *plan = &round->plan;
    const message_t *wanted = &plan->messages[action->index];
    int index = status->MPI_TAG - plan->tag_base;
    if (index < 0 || index >= plan->count || plan->messages[index].dest != test_rank
        || plan->messages[index].match != wanted->match)
        FAIL("received tag %d from %d: the plan has no such message to this rank",
             status->MPI_TAG, status->MPI_SOURCE);
    const message_t *message = &plan->messages[index];
    EXPECT_STATUS(status, message->source, tag_of(plan, index), message->bytes);
    if (!is_ordered(wanted->match))
        EXPECT_EQUAL("index of the message", action->index, index);
    else if (wanted->match == MATCH_ANY_TAG)
        EXPECT_EQUAL("source of the message", wanted->source, message->source);
    EXPECT_PATTERN("received", action->data, message->bytes, key_of(plan, index));
    guarded_free(action->data);
    action->data = NULL;
    action->got = index;
}

/* ---- cancelling ------------------------------------------------------------------------------- */

void action_post_unmatched(round_t *round, action_t *action)
{
    action->data = guarded_alloc(UNMATCHED_BYTES);
    MPI_Irecv(action->data, UNMATCHED_BYTES, MPI_BYTE, MPI_ANY_SOURCE, UNMATCHED_TAG,
              round->comms[MATCH_EXACT], &action->request);
}

void action_cancel(action_t *action)
{
    MPI_Status status;
    int cancelled;
    MPI_Cancel(&action->request);
    MPI_Wait(&action->request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    EXPECT_EQUAL("cancelled", 1, cancelled);
    guarded_free(action->data);
    action->data = NULL;
}
