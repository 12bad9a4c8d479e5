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
#include <bufenlarge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { PEERS_MAX = 4096, HERE_MAX = 512, BATCHES = 21, CALLS = 2000, MESSAGES = 500, SETTLE = 3000 };

static bufenlarge_context_t *contexts[PEERS_MAX + 1];
static unsigned peers, here;
static const char *provider = "tcp", *interface_name = "lo", *hot_channels = "32";
static unsigned char *addresses;        /* of all ranks, in memory that all processes share */
static unsigned long delivered;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "idle_peers: %s: %s\n", what, why);
    exit(1);
}

static void deliver(void *user, uint32_t peer, const void *data, size_t bytes, unsigned marks)
{
    (void) user, (void) peer, (void) data, (void) bytes;
    delivered += (marks & BUFENLARGE_LAST) != 0;
}

static void failed(void *user, uint32_t peer, bufenlarge_status_t status, const char *message)
{
    (void) user, (void) peer, (void) status;
    die("a connection was lost", message);
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec * 1e-3;
}

/* Each context takes a dozen descriptors, and each connection two more. */
static void raise_descriptors(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void open_contexts(unsigned first, unsigned end)
{
    const char *knobs[][2] = { {"PROVIDER", provider}, {"INTERFACE", interface_name}, {"HOT_CHANNELS", hot_channels} };
    bufenlarge_options_t *options = bufenlarge_options_create();
    char message[BUFENLARGE_MESSAGE_BYTES];

    for (size_t i = 0; i < sizeof(knobs) / sizeof(*knobs); i++)
        if (bufenlarge_options_set(options, knobs[i][0], knobs[i][1], message, sizeof(message)) != 0 &&
            strcmp(knobs[i][0], "HOT_CHANNELS") != 0)   /* which a library to compare with may not have */
            die("options", message);
    for (unsigned rank = first; rank < end; rank++) {
        bufenlarge_context_config_t config = {.options = options,.rank = rank,.size = peers + 1,
            .job_key = 0x5eed,.deliver = deliver,.failed = failed
        };
        if (bufenlarge_context_open(&config, &contexts[rank], message, sizeof(message)) != 0)
            die("open", message);
        bufenlarge_context_address(contexts[rank], addresses + rank * BUFENLARGE_ADDRESS_BYTES);
    }
    bufenlarge_options_destroy(options);
}

static void set_addresses(unsigned first, unsigned end)
{
    for (unsigned rank = first; rank < end; rank++)
        if (bufenlarge_context_set_addresses(contexts[rank], addresses, peers + 1) != 0)
            die("addresses", "refused");
}

/* 8 bytes from a peer to the hub; returns when they are delivered. */
static void send_one(unsigned rank)
{
    uint64_t word = rank;
    struct iovec iov = {.iov_base = &word,.iov_len = sizeof(word) };
    bufenlarge_channel_t *channel = bufenlarge_context_channel(contexts[rank], 0);
    unsigned long wanted = delivered + 1;
    size_t sent = 0;

    while (sent == 0) {
        if (bufenlarge_channel_send(channel, &iov, 1, 0, &sent) != BUFENLARGE_OK)
            die("send", bufenlarge_channel_error(channel));
        if (sent == 0) {        /* not connected yet, or no credit */
            bufenlarge_context_progress(contexts[rank]);
            bufenlarge_context_progress(contexts[0]);
        }
    }
    while (delivered < wanted)
        bufenlarge_context_progress(contexts[0]);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static void report(const char *question, double *batches)
{
    qsort(batches, BATCHES, sizeof(*batches), by_value);
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
        double begin = now_us();
        for (int i = 0; i < CALLS; i++)
            bufenlarge_context_progress(contexts[0]);
        batches[batch] = (now_us() - begin) / CALLS;
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
            double begin = now_us();
            send_one(rank);
            spent += now_us() - begin;
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
    uint64_t word = 8;
    struct iovec iov = {.iov_base = &word,.iov_len = sizeof(word) };
    char byte;

    raise_descriptors();
    open_contexts(first, end);
    set_addresses(first, end);
    for (unsigned rank = first; rank < end; rank++) {
        bufenlarge_channel_t *channel = bufenlarge_context_channel(contexts[rank], 0);
        for (size_t sent = 0; sent == 0 || !bufenlarge_context_idle(contexts[rank]);) {
            if (sent == 0 && bufenlarge_channel_send(channel, &iov, 1, 0, &sent) != BUFENLARGE_OK)
                die("send", bufenlarge_channel_error(channel));
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
        provider = argv[2], interface_name = argv[3], hot_channels = argv[4];
    here = peers < HERE_MAX ? peers : HERE_MAX;
    raise_descriptors();
    addresses = mmap(NULL, (PEERS_MAX + 1) * BUFENLARGE_ADDRESS_BYTES, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (addresses == MAP_FAILED)
        die("mmap", "no memory");
    open_contexts(0, 1);
    start_others(here + 1);
    open_contexts(1, here + 1);
    set_addresses(0, here + 1);
    for (unsigned rank = 1; rank <= here; rank++)
        send_one(rank);
    while (delivered < peers)
        bufenlarge_context_progress(contexts[0]);
    settle();
    measure_progress();
    measure_messages("same", 0);
    measure_messages("other", here / 2 + 1);
    for (unsigned rank = 0; rank <= here; rank++)
        bufenlarge_context_close(contexts[rank]);
    return 0;
}
