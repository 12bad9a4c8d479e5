/* SPDX-License-Identifier: MIT */
/*
 * unauthorized.c: unauthorized SECONDS PID...: a process outside the job, at the ports on which these
 * processes listen. For SECONDS it connects and leaves, connects and is silent, sends random
 * bytes, half a header as libfabric's tcp provider sends it, and a whole one with nonsense in it.
 * What it does is bounded in number. The job must not notice. Prints how often it did what.
 *
 * It needs no reply, so it never reads. It exits with 0 unless it could not even connect.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "data_pattern.h"
#include "listeners.h"

enum { PORTS_MAX = 64, SILENT_MAX = 100, ROUNDS_MAX = 200, NOISE_MAX = 4096 };

/* What libfabric 1.17's tcp provider sends first: a version, a type (0: connection request), the
 * size of the private data behind the header in network order, and 1 in byte 24. */
enum { HEADER_BYTES = 32, HEADER_VERSION = 3, HEADER_CONNREQ = 0, HEADER_ONE = 24 };

enum deed { LEAVE, LEAVE_RUDELY, KEEP_SILENT, SEND_NOISE, SEND_HALF_HEADER, SEND_HEADER, DEEDS };

static const char *const deed_names[] = { "connected and left",  "connected and reset",
                                          "connected, silent",   "random bytes",
                                          "half a header",       "a header with nonsense" };

static random_t chance;
static int kept[SILENT_MAX];
static int kept_count;

static int connect_to(const struct sockaddr_in *address)
{
    int s = socket(AF_INET, SOCK_STREAM, 0);
    if (s >= 0 && connect(s, (const struct sockaddr *) address, sizeof(*address)) == 0)
        return s;
    if (s >= 0)
        close(s);
    return -1;
}

static void send_all(int s, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    while (bytes > 0) {
        ssize_t sent = send(s, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent <= 0)
            return; /* the other side has closed, or does not read: both are its right */
        at += sent;
        bytes -= (size_t) sent;
    }
}

/* A connection left open on purpose; closed when there are too many. */
static void keep(int s)
{
    int *place = &kept[kept_count % SILENT_MAX];
    if (kept_count++ >= SILENT_MAX)
        close(*place);
    *place = s;
}

static void make_header(unsigned char *header, size_t data_bytes)
{
    memset(header, 0, HEADER_BYTES);
    header[0] = HEADER_VERSION;
    header[1] = HEADER_CONNREQ;
    header[2] = (unsigned char) (data_bytes >> 8);
    header[3] = (unsigned char) data_bytes;
    header[HEADER_ONE] = 1;
}

static void send_noise(int s)
{
    unsigned char noise[NOISE_MAX];
    size_t bytes = 1 + (size_t) random_below(&chance, sizeof(noise));
    pattern_fill(noise, bytes, random_next(&chance));
    send_all(s, noise, bytes);
}

/* Announces up to 256 bytes of private data and sends others, or fewer. */
static void send_nonsense(int s)
{
    unsigned char message[HEADER_BYTES + 256];
    size_t bytes = (size_t) random_below(&chance, 257);
    make_header(message, (size_t) random_below(&chance, 2) ? bytes : 65535);
    pattern_fill(message + HEADER_BYTES, bytes, random_next(&chance));
    send_all(s, message, HEADER_BYTES + bytes);
}

static void do_deed(enum deed deed, int s)
{
    struct linger reset = { .l_onoff = 1, .l_linger = 0 };
    unsigned char header[HEADER_BYTES];
    make_header(header, 52);
    switch (deed) {
        case LEAVE_RUDELY:
            setsockopt(s, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
            break;
        case SEND_NOISE:
            send_noise(s);
            break;
        case SEND_HALF_HEADER:
            send_all(s, header, 1 + (size_t) random_below(&chance, HEADER_BYTES - 1));
            break;
        case SEND_HEADER:
            send_nonsense(s);
            break;
        case LEAVE:
        case KEEP_SILENT:
        case DEEDS:
            break;
    }
    /* Of what has begun, half is left open: then the other side waits for the rest. */
    if (deed == KEEP_SILENT || (deed >= SEND_NOISE && random_below(&chance, 2)))
        keep(s);
    else
        close(s);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: unauthorized SECONDS PID...\n");
        return 2;
    }
    struct sockaddr_in ports[PORTS_MAX];
    int counts[DEEDS] = { 0 };
    const struct timespec pause = { .tv_nsec = 5000000 };
    const time_t end = time(NULL) + atoi(argv[1]);
    int port_count = listeners_await((const char *const *) argv + 2, argc - 2, ports, PORTS_MAX,
                                     10);
    chance.state = (uint64_t) getpid();
    for (int round = 0; round < ROUNDS_MAX && time(NULL) < end; round++) {
        for (int i = 0; i < port_count * DEEDS; i++) {
            int s = connect_to(&ports[i / DEEDS]);
            if (s < 0 && round == 0) {
                perror("unauthorized: connect");
                return 2;
            }
            if (s < 0)
                continue; /* the job has ended */
            do_deed((enum deed) (i % DEEDS), s);
            counts[i % DEEDS]++;
        }
        nanosleep(&pause, NULL);
    }
    for (int i = 0; i < DEEDS; i++)
        printf("%s: %d times\n", deed_names[i], counts[i]);
    return 0;
}
