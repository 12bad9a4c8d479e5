/* SPDX-License-Identifier: MIT */
/*
 * p2p_random.c: all point-to-point calls mixed at random, from a seed.
 *
 * Each round follows a plan (random_plan.h) that every rank knows. A rank shuffles its own share
 * of it (random_actions.h): starting sends (standard, synchronous, buffered, ready; persistent or
 * not), posting receives (early, late; persistent or not), receiving by probe and by matched
 * probe, cancelling receives that nothing matches. Then all pending requests are completed by one
 * of several calls. Checked: every byte, source, tag and count of each message, that each arrives
 * exactly once, and that wildcard receives get the messages of one source in the order in which
 * they were sent.
 */
#include <stdlib.h>

#include "random_actions.h"
#include "support.h"

enum { CANCELS_PER_ROUND = 2 };

/* MPICH rounds each buffered message up, which MPI_BSEND_OVERHEAD does not include. */
enum { BSEND_ROUNDING = 16 };

/* How pending requests are completed; drawn anew in each round. */
enum mode { MODE_WAITALL, MODE_WAITANY, MODE_WAITSOME, MODE_TESTSOME, MODES };

static void add_action(round_t *round, enum action_kind kind, int index)
{
    round->actions[round->action_count++] = (action_t) {
        .kind = kind, .index = index, .request = MPI_REQUEST_NULL, .got = -1
    };
}

/* This rank's share of the plan; returns the bytes its buffered sends need. */
static size_t list_actions(round_t *round)
{
    size_t buffered = MPI_BSEND_OVERHEAD; /* the least that may be attached */
    int queued[MATCH_KINDS] = { 0 };
    for (int i = 0; i < round->plan.count; i++) {
        const message_t *message = &round->plan.messages[i];
        if (message->source == test_rank) {
            add_action(round, ACTION_SEND, i);
            round->send_queue[message->match][queued[message->match]++] = i;
            if (message->send_mode == SEND_BUFFERED)
                buffered += message->bytes + MPI_BSEND_OVERHEAD + BSEND_ROUNDING;
        }
        if (message->dest == test_rank)
            add_action(round, ACTION_RECEIVE, i);
    }
    for (int i = 0; i < CANCELS_PER_ROUND; i++)
        add_action(round, ACTION_CANCEL, -1);
    return buffered;
}

/* What must be posted before any other rank sends. */
static void begin_early(round_t *round)
{
    for (int i = 0; i < round->action_count; i++) {
        action_t *action = &round->actions[i];
        if (action->kind == ACTION_CANCEL)
            action_post_unmatched(round, action);
        else if (action->kind == ACTION_RECEIVE
                 && round->plan.messages[action->index].receive_mode == RECEIVE_EARLY)
            action_post_receive(round, action);
    }
}

/* 0 when it has to be tried again. */
static int perform(round_t *round, action_t *action)
{
    if (action->kind == ACTION_SEND)
        action_start_send(round, action);
    else if (action->kind == ACTION_CANCEL)
        action_cancel(action);
    else if (round->plan.messages[action->index].receive_mode == RECEIVE_LATE)
        action_post_receive(round, action);
    else if (round->plan.messages[action->index].receive_mode != RECEIVE_EARLY)
        return action_try_probe(round, action);
    return 1;
}

static void perform_all(round_t *round, random_t *chance)
{
    int *order = malloc((size_t) round->action_count * sizeof(*order));
    random_order(chance, order, round->action_count);
    int left = round->action_count;
    while (left > 0) {
        int again = 0;
        for (int i = 0; i < left; i++) {
            if (!perform(round, &round->actions[order[i]]))
                order[again++] = order[i];
        }
        left = again;
    }
    free(order);
}

/* How many requests completed, MPI_UNDEFINED when none is active any more. */
static int complete_some(enum mode mode, int count, MPI_Request *requests, int *indices,
                         MPI_Status *statuses)
{
    int done = 1;
    if (mode == MODE_WAITANY) {
        MPI_Waitany(count, requests, &indices[0], &statuses[0]);
        return indices[0] == MPI_UNDEFINED ? MPI_UNDEFINED : 1;
    }
    if (mode == MODE_WAITSOME)
        MPI_Waitsome(count, requests, &done, indices, statuses);
    else
        MPI_Testsome(count, requests, &done, indices, statuses);
    return done;
}

static void on_complete(round_t *round, int index, const MPI_Status *status)
{
    if (round->actions[index].kind == ACTION_RECEIVE)
        action_accept(round, &round->actions[index], status);
}

static void complete_all(round_t *round, enum mode mode)
{
    int count = round->action_count;
    MPI_Request *requests = malloc((size_t) count * sizeof(*requests));
    MPI_Status *statuses = malloc((size_t) count * sizeof(*statuses));
    int *indices = malloc((size_t) count * sizeof(*indices));
    for (int i = 0; i < count; i++)
        requests[i] = round->actions[i].request;
    if (mode == MODE_WAITALL) {
        MPI_Waitall(count, requests, statuses);
        for (int i = 0; i < count; i++)
            on_complete(round, i, &statuses[i]);
    } else {
        int done;
        while ((done = complete_some(mode, count, requests, indices, statuses)) != MPI_UNDEFINED) {
            for (int i = 0; i < done; i++)
                on_complete(round, indices[i], &statuses[i]);
        }
    }
    for (int i = 0; i < count; i++) {
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[i]); /* persistent, and inactive now */
    }
    free(requests);
    free(statuses);
    free(indices);
}

static int compare_order(const void *a, const void *b)
{
    return ((const action_t *) a)->order - ((const action_t *) b)->order;
}

/* Each message exactly once; wildcard receives in the sender's order. */
static void check_round(round_t *round)
{
    int *times = calloc((size_t) round->plan.count, sizeof(*times));
    int *last = malloc(MATCH_KINDS * (size_t) test_size * sizeof(*last));
    for (int i = 0; i < MATCH_KINDS * test_size; i++)
        last[i] = -1;
    qsort(round->actions, (size_t) round->action_count, sizeof(*round->actions), compare_order);
    for (int i = 0; i < round->action_count; i++) {
        const action_t *action = &round->actions[i];
        guarded_free(action->data);
        if (action->kind != ACTION_RECEIVE)
            continue;
        if (action->got < 0)
            FAIL("the receive for message %d was never completed", action->index);
        const message_t *message = &round->plan.messages[action->got];
        int *previous = &last[(int) message->match * test_size + message->source];
        int ordered = message->match == MATCH_ANY_TAG || message->match == MATCH_ANY;
        if (ordered && action->got < *previous)
            FAIL("from %d: message %d came after message %d", message->source, action->got,
                 *previous);
        *previous = action->got;
        EXPECT_EQUAL("times a message came", 1, ++times[action->got]);
    }
    free(times);
    free(last);
}

static void run_round(MPI_Comm *comms, long number)
{
    random_t chance = { pattern_key(test_options.seed, test_rank, 0, 1, (uint64_t) number) };
    round_t round = { .comms = comms };
    round.plan = plan_create(test_options.seed, number, test_size, test_options.bytes);
    size_t share_max = 2 * (size_t) round.plan.count + CANCELS_PER_ROUND;
    round.actions = calloc(share_max, sizeof(*round.actions));
    for (int i = 0; i < MATCH_KINDS; i++)
        round.send_queue[i] = malloc((size_t) round.plan.count * sizeof(*round.send_queue[i]));
    int buffered = (int) list_actions(&round);
    void *attached = malloc((size_t) buffered);
    MPI_Buffer_attach(attached, buffered);
    begin_early(&round);
    MPI_Barrier(MPI_COMM_WORLD);
    perform_all(&round, &chance);
    complete_all(&round, (enum mode) random_below(&chance, MODES));
    MPI_Buffer_detach(&attached, &buffered);
    free(attached);
    check_round(&round);
    for (int i = 0; i < MATCH_KINDS; i++)
        free(round.send_queue[i]);
    free(round.actions);
    plan_destroy(&round.plan);
}

int main(int argc, char **argv)
{
    MPI_Comm comms[MATCH_KINDS];
    test_begin(argc, argv, (test_options_t) { .bytes = 1 << 20, .rounds = 20, .seed = 1 });
    for (int i = 0; i < MATCH_KINDS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (long number = 0; test_another_round(number); number++)
        run_round(comms, number);
    for (int i = 0; i < MATCH_KINDS; i++)
        MPI_Comm_free(&comms[i]);
    return test_end();
}
