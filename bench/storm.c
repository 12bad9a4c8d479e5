/* SPDX-License-Identifier: MIT */
/*
 * storm.c: many connections at once, over tcp on the loopback interface, all processes of the job in this one.
 *   storm callers N   N contexts call one at once. The longest progress call of the one that is called, the
 *                     processor time of its calls and of all, and the time until every message has arrived.
 *   storm silent N    One context sends to N peers that make no progress, then to one that does: the time until
 *                     that one's message has arrived.
 * Output: lines `question,N,value,unit`.
 */
#include <bufenlarge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PATIENCE_US = 60 * 1000 * 1000 };

static bufenlarge_context_t **contexts;
static unsigned count;
static unsigned arrived;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "storm: %s: %s\n", what, why);
    exit(1);
}

static double now_us(clockid_t clock)
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

static void open_all(void)
{
    unsigned char *addresses = calloc(count, BUFENLARGE_ADDRESS_BYTES);
    bufenlarge_options_t *options = bufenlarge_options_create();
    char message[BUFENLARGE_MESSAGE_BYTES];

    contexts = calloc(count, sizeof(*contexts));
    if (addresses == NULL || options == NULL || contexts == NULL)
        die("start", "no memory");
    if (bufenlarge_options_set(options, "PROVIDER", "tcp", message, sizeof(message)) != 0 ||
        bufenlarge_options_set(options, "INTERFACE", "lo", message, sizeof(message)) != 0)
        die("options", message);
    for (unsigned rank = 0; rank < count; rank++) {
        bufenlarge_context_config_t config = {.options = options,.rank = rank,.size = count,
            .job_key = 0x5eed,.deliver = deliver,.failed = failed
        };
        if (bufenlarge_context_open(&config, &contexts[rank], message, sizeof(message)) != 0)
            die("open", message);
        bufenlarge_context_address(contexts[rank], addresses + rank * BUFENLARGE_ADDRESS_BYTES);
    }
    for (unsigned rank = 0; rank < count; rank++)
        if (bufenlarge_context_set_addresses(contexts[rank], addresses, count) != 0)
            die("addresses", "refused");
    bufenlarge_options_destroy(options);
    free(addresses);
}

static int send_to(unsigned from, unsigned to)
{
    char data[8] = "";
    struct iovec vector = {.iov_base = data,.iov_len = sizeof(data) };
    size_t sent = 0;
    bufenlarge_channel_t *channel = bufenlarge_context_channel(contexts[from], to);

    if (bufenlarge_channel_send(channel, &vector, 1, 0, &sent) != BUFENLARGE_OK)
        die("send", bufenlarge_channel_error(channel));
    return sent == sizeof(data);
}

static void must_go_on(double begin)
{
    if (now_us(CLOCK_MONOTONIC) - begin > PATIENCE_US)
        die("hang", "a message did not arrive in a minute");
}

static void callers(unsigned calling)
{
    char *sent;
    double longest = 0, hub_processor = 0, begin, processor;

    count = calling + 1;
    sent = calloc(count, 1);
    open_all();
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
        hub_processor += now_us(CLOCK_PROCESS_CPUTIME_ID) - before_processor;
        longest = took > longest ? took : longest;
        for (unsigned rank = 1; rank < count; rank++) {
            bufenlarge_context_progress(contexts[rank]);
            if (!sent[rank])
                sent[rank] = (char) send_to(rank, 0);
        }
        must_go_on(begin);
    }
    printf("storm_longest_call,%u,%.1f,us\n", calling, longest);
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
    open_all();
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
        die("usage", "storm callers|silent N");
    if (strcmp(argv[1], "callers") == 0)
        callers(others);
    else if (strcmp(argv[1], "silent") == 0)
        silent(others);
    else
        die("usage", "storm callers|silent N");
    for (unsigned rank = 0; rank < count; rank++)
        bufenlarge_context_close(contexts[rank]);
    free(contexts);
    return 0;
}
