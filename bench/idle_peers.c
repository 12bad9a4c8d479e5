/* SPDX-License-Identifier: MIT */
/*
 * idle_peers.c: what progress costs a process with many connected peers. One process has a hub (rank 0), the contexts
 * of up to HERE_MAX peers, and only one thread, so that nothing but the work itself takes time. A process may not have
 * the descriptors for more; further peers are in processes of their own, which sleep once they are connected. It
 * measures
 *
 *   progress    one call of the hub's progress while nothing arrives
 *   same        8 bytes from one peer, always the same: its send and the hub's progress until they are delivered
 *   other       the same from another peer of this process each time
 *
 * Output: lines `question,peers,value,unit`; the value is the lowest mean of BATCHES batches, and the median of them.
 */
#include "many_contexts.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PEERS_MAX = 4096, HERE_MAX = 512, BATCHES = 21, CALLS = 2000, MESSAGES = 500, SETTLE = 3000 };

static unsigned peers, here;
static knob_t knobs[] = { {"PROVIDER", "tcp", 0}, {"INTERFACE", "lo", 0}, {"HOT_CHANNELS", "32", 1}, {NULL, NULL, 0} };
static unsigned char *addresses;        /* of all ranks, in memory that all processes share */

/* 8 bytes from a peer to the hub; returns when they are delivered. */
static void send_one(unsigned rank)
{
    const unsigned long wanted = delivered + 1;

    while (!send_8(rank, 0)) {
        bufenlarge_context_progress(contexts[rank]);
        bufenlarge_context_progress(contexts[0]);
    }
    while (delivered < wanted)
        bufenlarge_context_progress(contexts[0]);
}

static void report(const char *question, double *batches)
{
    qsort(batches, BATCHES, sizeof(*batches), ascending);
    printf("%s_lowest,%u,%.4f,us\n%s_median,%u,%.4f,us\n", question, peers, batches[0], question, peers,
           batches[BATCHES / 2]);
    fflush(stdout);
}

static void settle(void)
{
    for (int i = 0; i < SETTLE; i++)
        bufenlarge_context_progress(contexts[0]);
}

static void measure_progress(void)
{
    double batches[BATCHES];
    for (int batch = 0; batch < BATCHES; batch++) {
        double begin = now_us(CLOCK_MONOTONIC);
        for (int i = 0; i < CALLS; i++)
            bufenlarge_context_progress(contexts[0]);
        batches[batch] = (now_us(CLOCK_MONOTONIC) - begin) / CALLS;
    }
    report("progress", batches);
}

/* `step` 0: always rank 1. The peers' own progress, which takes their credit, is not timed. */
static void measure_messages(const char *question, unsigned step)
{
    double batches[BATCHES];
    unsigned rank = 1;
    for (int batch = 0; batch < BATCHES; batch++) {
        double spent = 0;
        for (int i = 0; i < MESSAGES; i++) {
            double begin = now_us(CLOCK_MONOTONIC);
            send_one(rank);
            spent += now_us(CLOCK_MONOTONIC) - begin;
            bufenlarge_context_progress(contexts[rank]);
            rank = (rank - 1 + step) % here + 1;
        }
        batches[batch] = spent / MESSAGES;
    }
    report(question, batches);
}

/* A process of further peers: each sends 8 bytes to the hub; then it sleeps until the hub's process ends. */
static void sleep_connected(unsigned first, unsigned end, int pipe_end)
{
    char byte;

    raise_descriptors();
    open_contexts(first, end, knobs, addresses);
    set_addresses(first, end, addresses);
    for (unsigned rank = first; rank < end; rank++) {
        for (int sent = 0; !sent || !bufenlarge_context_idle(contexts[rank]);) {
            sent = sent || send_8(rank, 0);
            bufenlarge_context_progress(contexts[rank]);
        }
    }
    while (read(pipe_end, &byte, 1) > 0)
        continue;
    exit(0);
}

/* Starts the processes of the peers from `first` on. They find the hub's address, and end when this process does. */
static void start_others(unsigned first)
{
    int ends[2];
    if (pipe(ends) != 0)
        die("pipe", "none");
    for (; first <= peers; first += HERE_MAX) {
        unsigned end = first + HERE_MAX <= peers + 1 ? first + HERE_MAX : peers + 1;
        pid_t child = fork();
        if (child < 0)
            die("fork", "refused");
        if (child == 0) {
            close(ends[1]);
            sleep_connected(first, end, ends[0]);
        }
    }
    close(ends[0]);
}

int main(int argc, char **argv)
{
    peers = argc > 1 ? (unsigned) atoi(argv[1]) : 0;
    if (peers < 1 || peers > PEERS_MAX || (argc != 2 && argc != 5)) {
        fprintf(stderr, "usage: idle_peers PEERS [PROVIDER INTERFACE HOT_CHANNELS]; PEERS from 1 to %d\n", PEERS_MAX);
        return 2;
    }
    if (argc == 5)
        for (int i = 0; i < 3; i++)
            knobs[i].value = argv[2 + i];
    count = peers + 1;
    here = peers < HERE_MAX ? peers : HERE_MAX;
    raise_descriptors();
    addresses = mmap(NULL, (size_t) count * sizeof(struct sockaddr_in), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (addresses == MAP_FAILED)
        die("mmap", "no memory");
    open_contexts(0, 1, knobs, addresses);
    start_others(here + 1);
    open_contexts(1, here + 1, knobs, addresses);
    set_addresses(0, here + 1, addresses);
    for (unsigned rank = 1; rank <= here; rank++)
        send_one(rank);
    while (delivered < peers)
        bufenlarge_context_progress(contexts[0]);
    settle();
    measure_progress();
    measure_messages("same", 0);
    measure_messages("other", here / 2 + 1);
    close_all();
    return 0;
}
