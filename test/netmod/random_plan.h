/* SPDX-License-Identifier: MIT */
/*
 * random_plan.h: what a round of p2p_random does, made from the seed alone, so that every rank
 * knows every message of the round without asking.
 *
 * Each kind of match has its own communicator, so that a wildcard cannot take a message that
 * another receive waits for. Tags are unique in a round; the tag says which message it is.
 */
#ifndef RANDOM_PLAN_H_INCLUDED
#define RANDOM_PLAN_H_INCLUDED

#include "data_pattern.h"

enum match { MATCH_EXACT, MATCH_ANY_SOURCE, MATCH_ANY_TAG, MATCH_ANY, MATCH_KINDS };

enum send_mode { SEND_STANDARD, SEND_SYNCHRONOUS, SEND_BUFFERED, SEND_READY, SEND_MODES };

enum receive_mode {
    RECEIVE_EARLY, /* posted before the round's barrier */
    RECEIVE_LATE,  /* posted among the sends */
    RECEIVE_PROBE,
    RECEIVE_MPROBE,
    RECEIVE_MODES
};

typedef struct {
    int source;
    int dest;
    size_t bytes;
    enum match match;
    enum send_mode send_mode;
    enum receive_mode receive_mode;
    int persistent_send;
    int persistent_receive; /* only for RECEIVE_EARLY and RECEIVE_LATE */
} message_t;

typedef struct {
    message_t *messages;
    int count;
    int tag_base; /* message i has tag tag_base + i */
} plan_t;

plan_t plan_create(uint64_t seed, long round, int ranks, size_t bytes_max);
void plan_destroy(plan_t *plan);

/* The largest message of this kind to `dest`: what a wildcard receive must have room for. */
size_t plan_bytes_max(const plan_t *plan, int dest, enum match match);

#endif
