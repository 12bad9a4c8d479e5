/* SPDX-License-Identifier: MIT */
/*
 * random_actions.h: one rank's things to do in a round of p2p_random: start a send, post a
 * receive, receive by probe, cancel a receive; and the check of what a receive brought.
 */
#ifndef RANDOM_ACTIONS_H_INCLUDED
#define RANDOM_ACTIONS_H_INCLUDED

#include <mpi.h>

#include "random_plan.h"

enum action_kind { ACTION_SEND, ACTION_RECEIVE, ACTION_CANCEL };

typedef struct {
    enum action_kind kind;
    int index;           /* in the plan; of wildcard receives only match and mode count */
    unsigned char *data; /* guarded */
    MPI_Request request;
    int order; /* when the receive was posted or its message taken; 0 is not yet */
    int got;   /* a receive: index of the message that came, -1 before */
} action_t;

typedef struct {
    plan_t plan;
    MPI_Comm *comms; /* one for each kind of match */
    action_t *actions;
    int action_count;
    int *send_queue[MATCH_KINDS]; /* own sends in the plan's order */
    int send_queue_next[MATCH_KINDS];
    int next_order;
} round_t;

/* Starts the send; for a wildcard kind the next one of its queue, whichever the action names,
 * so that the receiver can check the order. */
void action_start_send(round_t *round, action_t *action);

void action_post_receive(round_t *round, action_t *action);

/* 1 when a message was there and its receive is started, else 0: to be tried again. */
int action_try_probe(round_t *round, action_t *action);

/* Posts a receive that no message of any plan matches, and takes it back. */
void action_post_unmatched(round_t *round, action_t *action);
void action_cancel(action_t *action);

/* A receive has completed: checks that it is a message this action may get, and every byte. */
void action_accept(round_t *round, action_t *action, const MPI_Status *status);

#endif
