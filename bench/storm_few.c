/* SPDX-License-Identifier: MIT */
/* storm_few.c: the parts of the storm program with few descriptors, and with connections that are made again. */
#include "storm.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- few descriptors */

static void leave_descriptors(int spare)
{
    int last = 0, opened[64];
    struct rlimit limit;
    for (int i = 0; i < spare; i++) {
        opened[i] = open("/dev/null", O_RDONLY);
        last = opened[i] > last ? opened[i] : last;
    }
    for (int i = 0; i < spare; i++)
        close(opened[i]);
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = (rlim_t) last + 1;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void read_all(int from, unsigned char *to, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t got = read(from, to, bytes);
        if (got <= 0)
            die("pipe", "the other process is gone");
        to += got, bytes -= (size_t) got;
    }
}

/* The process that is called. It ends when the other end of `from` is closed. */
static void be_called(int from, int to)
{
    unsigned char *addresses = new_addresses();
    struct pollfd end = {.fd = from,.events = POLLIN };
    open_contexts(0, 1, storm_knobs("off"), addresses);
    if (write(to, addresses, sizeof(struct sockaddr_in)) != (ssize_t) sizeof(struct sockaddr_in))
        die("pipe", "cannot write");
    read_all(from, addresses, (size_t) count * sizeof(struct sockaddr_in));
    set_addresses(0, 1, addresses);
    leave_descriptors(20);
    for (unsigned told = 0; poll(&end, 1, 0) == 0; told = delivered) {
        for (int round = 0; round < 64; round++)
            bufenlarge_context_progress(contexts[0]);
        if (told < count - 1 && delivered == count - 1 && write(to, "", 1) != 1)
            die("pipe", "cannot write");
    }
    _exit(0);
}

void few(unsigned calling)
{
    int there[2], back[2], status = 0;
    char *sent;
    pid_t child;
    count = calling + 1;
    sent = calloc(count, 1);
    if (sent == NULL || pipe(there) != 0 || pipe(back) != 0 || (child = fork()) < 0)
        die("start", "no second process");
    if (child == 0) {
        close(there[1]), close(back[0]);
        be_called(there[0], back[1]);
    }
    close(there[0]), close(back[1]);
    unsigned char *addresses = new_addresses();
    read_all(back[0], addresses, sizeof(struct sockaddr_in));
    open_contexts(1, count, storm_knobs("off"), addresses);
    set_addresses(1, count, addresses);
    if (write(there[1], addresses, (size_t) count * sizeof(struct sockaddr_in)) < 0)
        die("pipe", "cannot write");
    struct pollfd said = {.fd = back[0],.events = POLLIN };
    const double begin = now_us(CLOCK_MONOTONIC);
    while (poll(&said, 1, 0) == 0) {
        for (unsigned rank = 1; rank < count; rank++) {
            sent[rank] = sent[rank] || send_8(rank, 0);
            bufenlarge_context_progress(contexts[rank]);
        }
        must_go_on(begin);
    }
    printf("storm_few_descriptors,%u,%.1f,us\n", calling, now_us(CLOCK_MONOTONIC) - begin);
    close(there[1]), close(back[0]);
    waitpid(child, &status, 0);
    if (status != 0)
        die("few", "the process that was called failed");
    free(addresses), free(sent);
}

/* ---- connections that are made again */

/* Returns the median time until a message of rank 0 has arrived at a peer it has no connection to. */
static double connect_each(double *times)
{
    for (unsigned peer = 1; peer < count; peer++) {
        const unsigned before = delivered;
        const double begin = now_us(CLOCK_MONOTONIC);
        int sent = 0;
        while (delivered == before) {
            sent = sent || send_8(0, peer);
            bufenlarge_context_progress(contexts[0]);
            bufenlarge_context_progress(contexts[peer]);
            must_go_on(begin);
        }
        times[peer - 1] = now_us(CLOCK_MONOTONIC) - begin;
    }
    qsort(times, count - 1, sizeof(*times), ascending);
    return times[(count - 1) / 2];
}

static void until_all_closed(void)
{
    const double begin = now_us(CLOCK_MONOTONIC);
    bufenlarge_context_stats_t stats;
    do {
        for (unsigned rank = 0; rank < count; rank++)
            bufenlarge_context_progress(contexts[rank]);
        bufenlarge_context_stats(contexts[0], &stats);
        must_go_on(begin);
    } while (stats.connections != 0);
}

void reopen(unsigned peers)
{
    double *times;
    count = peers + 1;
    times = calloc(count, sizeof(*times));
    open_all(storm_knobs("100ms"));
    printf("storm_first_connect,%u,%.1f,us\n", peers, connect_each(times));
    until_all_closed();
    printf("storm_reopen,%u,%.1f,us\n", peers, connect_each(times));
    free(times);
}
