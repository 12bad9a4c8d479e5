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

bufenlarge_context_t **contexts;
unsigned count;
unsigned arrived;

void die(const char *what, const char *why)
{
    fprintf(stderr, "storm: %s: %s\n", what, why);
    exit(1);
}

double now_us(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double) time.tv_sec * 1e6 + (double) time.tv_nsec / 1e3;
}

static void deliver(void *user, uint32_t peer, const void *data, size_t bytes, unsigned marks)
{
    (void) user, (void) peer, (void) data, (void) bytes;
    arrived += (marks & BUFENLARGE_LAST) != 0;
}

static void failed(void *user, uint32_t peer, bufenlarge_status_t status, const char *message)
{
    (void) user, (void) peer, (void) status;
    die("a connection was lost", message);
}

/* Opens the contexts of the ranks from `first` to `end` - 1 into `contexts`, and gives back their addresses. */
void open_some(unsigned first, unsigned end, const char *idle_close, unsigned char *addresses)
{
    bufenlarge_options_t *options = bufenlarge_options_create();
    char message[BUFENLARGE_MESSAGE_BYTES];

    if (contexts == NULL)
        contexts = calloc(count, sizeof(*contexts));
    if (options == NULL || contexts == NULL)
        die("start", "no memory");
    if (bufenlarge_options_set(options, "PROVIDER", "tcp", message, sizeof(message)) != 0 ||
        bufenlarge_options_set(options, "INTERFACE", "lo", message, sizeof(message)) != 0 ||
        bufenlarge_options_set(options, "CONNECTIONS", "0", message, sizeof(message)) != 0 ||
        bufenlarge_options_set(options, "IDLE_CLOSE", idle_close, message, sizeof(message)) != 0)
        die("options", message);
    for (unsigned rank = first; rank < end; rank++) {
        bufenlarge_context_config_t config = {.options = options,.rank = rank,.size = count,
            .job_key = 0x5eed,.deliver = deliver,.failed = failed
        };
        if (bufenlarge_context_open(&config, &contexts[rank], message, sizeof(message)) != 0)
            die("open", message);
        bufenlarge_context_address(contexts[rank], addresses + rank * BUFENLARGE_ADDRESS_BYTES);
    }
    bufenlarge_options_destroy(options);
}

void tell_addresses(unsigned first, unsigned end, const unsigned char *addresses)
{
    for (unsigned rank = first; rank < end; rank++)
        if (bufenlarge_context_set_addresses(contexts[rank], addresses, count) != 0)
            die("addresses", "refused");
}

unsigned char *new_addresses(void)
{
    unsigned char *addresses = calloc(count, BUFENLARGE_ADDRESS_BYTES);
    if (addresses == NULL)
        die("start", "no memory");
    return addresses;
}

void open_all(const char *idle_close)
{
    unsigned char *addresses = new_addresses();
    open_some(0, count, idle_close, addresses);
    tell_addresses(0, count, addresses);
    free(addresses);
}

int send_to(unsigned from, unsigned to)
{
    char data[8] = "";
    struct iovec vector = {.iov_base = data,.iov_len = sizeof(data) };
    size_t sent = 0;
    bufenlarge_channel_t *channel = bufenlarge_context_channel(contexts[from], to);

    if (bufenlarge_channel_send(channel, &vector, 1, 0, &sent) != BUFENLARGE_OK)
        die("send", bufenlarge_channel_error(channel));
    return sent == sizeof(data);
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
    open_all("off");
    for (unsigned rank = 1; rank < count; rank++) {
        sent[rank] = (char) send_to(rank, 0);
        for (int round = 0; round < 4; round++) /* the request is in the listener's queue then */
            bufenlarge_context_progress(contexts[rank]);
    }
    begin = now_us(CLOCK_MONOTONIC);
    processor = now_us(CLOCK_PROCESS_CPUTIME_ID);
    while (arrived < calling) {
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
                sent[rank] = (char) send_to(rank, 0);
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
    open_all("off");
    for (unsigned rank = 1; rank <= computing; rank++) {
        (void) send_to(0, rank);
        bufenlarge_context_progress(contexts[0]);
    }
    begin = now_us(CLOCK_MONOTONIC);
    while (arrived == 0) {
        sent = sent || send_to(0, ready);
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
    for (unsigned rank = 0; rank < count; rank++)
        bufenlarge_context_close(contexts[rank]);
    free(contexts);
    return 0;
}
