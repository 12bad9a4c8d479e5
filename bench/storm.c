/* SPDX-License-Identifier: MIT */
/*
 * storm.c: many connections at once, over tcp on the loopback interface, all processes of the job in this one, but
 * for `few`.
 *   storm callers N   N contexts call one at once. The longest progress call of the one that is called, the
 *                     processor time of its calls and of all, and the time until every message has arrived.
 *   storm silent N    One context sends to N peers that make no progress, then to one that does: the time until
 *                     that one's message has arrived.
 *   storm few N       The one that is called is a process of its own, with 20 file descriptors to spare: the time until
 *                     the messages of all N callers have arrived.
 *   storm reopen N    One context sends to each of N others, and again when all the connections were closed: the
 *                     median time of a first connect with its message, and of a second.
 * Output: lines `question,N,value,unit`.
 */
#include "storm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_US = 60 * 1000 * 1000 };

const knob_t *storm_knobs(const char *idle_close)
{
    static knob_t knobs[] = {
        {"IDLE_CLOSE", "off", 0}, {"PROVIDER", "tcp", 0}, {"INTERFACE", "lo", 0}, {NULL, NULL, 0}
    };
    knobs[0].value = idle_close;
    return knobs;
}

void must_go_on(double begin)
{
    if (now_us(CLOCK_MONOTONIC) - begin > PATIENCE_US)
        die("hang", "a message did not arrive in a minute");
}

static void callers(unsigned calling)
{
    char *sent;
    double longest = 0, longest_processor = 0, hub_processor = 0, begin, processor;

    count = calling + 1;
    sent = calloc(count, 1);
    open_all(storm_knobs("off"));
    for (unsigned rank = 1; rank < count; rank++) {
        sent[rank] = (char) send_8(rank, 0);
        for (int round = 0; round < 4; round++) /* the request is in the listener's queue then */
            bufenlarge_context_progress(contexts[rank]);
    }
    begin = now_us(CLOCK_MONOTONIC);
    processor = now_us(CLOCK_PROCESS_CPUTIME_ID);
    while (delivered < calling) {
        double before = now_us(CLOCK_MONOTONIC), before_processor = now_us(CLOCK_PROCESS_CPUTIME_ID);
        bufenlarge_context_progress(contexts[0]);
        double took = now_us(CLOCK_MONOTONIC) - before;
        const double took_processor = now_us(CLOCK_PROCESS_CPUTIME_ID) - before_processor;
        hub_processor += took_processor;
        longest = took > longest ? took : longest;
        longest_processor = took_processor > longest_processor ? took_processor : longest_processor;
        for (unsigned rank = 1; rank < count; rank++) {
            bufenlarge_context_progress(contexts[rank]);
            if (!sent[rank])
                sent[rank] = (char) send_8(rank, 0);
        }
        must_go_on(begin);
    }
    printf("storm_longest_call,%u,%.1f,us\n", calling, longest);
    printf("storm_longest_call_processor,%u,%.1f,us\n", calling, longest_processor);
    printf("storm_hub_processor,%u,%.1f,us\n", calling, hub_processor);
    printf("storm_processor,%u,%.1f,us\n", calling, now_us(CLOCK_PROCESS_CPUTIME_ID) - processor);
    printf("storm_all_arrived,%u,%.1f,us\n", calling, now_us(CLOCK_MONOTONIC) - begin);
    free(sent);
}

static void silent(unsigned computing)
{
    const unsigned ready = computing + 1;
    double begin;
    int sent = 0;

    count = computing + 2;
    open_all(storm_knobs("off"));
    for (unsigned rank = 1; rank <= computing; rank++) {
        (void) send_8(0, rank);
        bufenlarge_context_progress(contexts[0]);
    }
    begin = now_us(CLOCK_MONOTONIC);
    while (delivered == 0) {
        sent = sent || send_8(0, ready);
        bufenlarge_context_progress(contexts[0]);
        bufenlarge_context_progress(contexts[ready]);
        must_go_on(begin);
    }
    printf("storm_ready_behind_silent,%u,%.1f,us\n", computing, now_us(CLOCK_MONOTONIC) - begin);
}

int main(int argc, char **argv)
{
    const unsigned others = argc == 3 ? (unsigned) strtoul(argv[2], NULL, 10) : 0;

    if (others == 0 || others > 8192)
        die("usage", "storm callers|silent|few|reopen N");
    if (strcmp(argv[1], "callers") == 0)
        callers(others);
    else if (strcmp(argv[1], "silent") == 0)
        silent(others);
    else if (strcmp(argv[1], "few") == 0)
        few(others);
    else if (strcmp(argv[1], "reopen") == 0)
        reopen(others);
    else
        die("usage", "storm callers|silent|few|reopen N");
    close_all();
    return 0;
}
