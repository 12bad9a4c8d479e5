/* SPDX-License-Identifier: MIT */
/* random_plan.c: see random_plan.h. */
#include "random_plan.h"

#include <stdlib.h>

enum { MESSAGES_PER_RANK = 12, TAG_BASES = 20000 };

/* A ready send is legal only if its receive is surely posted: early, and surely the one. */
static int may_be_ready(const message_t *message)
{
    return message->receive_mode == RECEIVE_EARLY
           && (message->match == MATCH_EXACT || message->match == MATCH_ANY_SOURCE);
}

static message_t random_message(random_t *random, int ranks, size_t bytes_max)
{
    message_t message = {
        .source = (int) random_below(random, (uint64_t) ranks),
        .dest = (int) random_below(random, (uint64_t) ranks),
        .bytes = random_size(random, bytes_max),
        .match = (enum match) random_below(random, MATCH_KINDS),
        .send_mode = (enum send_mode) random_below(random, SEND_MODES),
        .receive_mode = (enum receive_mode) random_below(random, RECEIVE_MODES),
        .persistent_send = random_below(random, 4) == 0,
        .persistent_receive = random_below(random, 4) == 0,
    };
    if (message.send_mode == SEND_READY && !may_be_ready(&message))
        message.send_mode = SEND_STANDARD;
    return message;
}

plan_t plan_create(uint64_t seed, long round, int ranks, size_t bytes_max)
{
    random_t random = { pattern_key(seed, ranks, 0, 0, (uint64_t) round) };
    plan_t plan = { .count = MESSAGES_PER_RANK * ranks,
                    .tag_base = (int) random_below(&random, TAG_BASES) };
    plan.messages = calloc((size_t) plan.count, sizeof(*plan.messages));
    if (!plan.messages)
        abort();
    for (int i = 0; i < plan.count; i++)
        plan.messages[i] = random_message(&random, ranks, bytes_max);
    return plan;
}

void plan_destroy(plan_t *plan)
{
    free(plan->messages);
    plan->messages = NULL;
}

size_t plan_bytes_max(const plan_t *plan, int dest, enum match match)
{
    size_t bytes = 0;
    for (int i = 0; i < plan->count; i++) {
        const message_t *message = &plan->messages[i];
        if (message->dest == dest && message->match == match && message->bytes > bytes)
            bytes = message->bytes;
    }
    return bytes;
}
