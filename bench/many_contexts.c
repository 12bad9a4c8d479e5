/* SPDX-License-Identifier: MIT */
/* many_contexts.c: many contexts of one job in a few processes. */
#define _GNU_SOURCE
#include "many_contexts.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

bufenlarge_context_t **contexts;
unsigned count;
unsigned long delivered;

void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
    exit(1);
}

double now_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double) now.tv_sec * 1e6 + (double) now.tv_nsec * 1e-3;
}

void raise_descriptors(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
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

unsigned char *new_addresses(void)
{
    unsigned char *addresses = calloc(count, sizeof(struct sockaddr_in));
    if (addresses == NULL)
        die("start", "no memory");
    return addresses;
}

static void set_knob(bufenlarge_options_t * options, const knob_t * knob)
{
    char message[BUFENLARGE_MESSAGE_BYTES];
    if (bufenlarge_options_set(options, knob->name, knob->value, message, sizeof(message)) != 0 && !knob->may_lack)
        die("options", message);
}

void open_contexts(unsigned first, unsigned end, const knob_t * knobs, unsigned char *addresses)
{
    static const knob_t no_bound = { "CONNECTIONS", "0", 1 };
    static const knob_t no_limit = { "MEMORY_MAX", "off", 1 };      /* by default all contexts share what there is */
    bufenlarge_options_t *options = bufenlarge_options_create();
    char message[BUFENLARGE_MESSAGE_BYTES];

    if (contexts == NULL)
        contexts = calloc(count, sizeof(*contexts));
    if (options == NULL || contexts == NULL)
        die("start", "no memory");
    set_knob(options, &no_bound);
    set_knob(options, &no_limit);
    for (; knobs->name != NULL; knobs++)
        set_knob(options, knobs);
    for (unsigned rank = first; rank < end; rank++) {
        bufenlarge_context_config_t config = {.options = options,.rank = rank,.size = count,
            .job_key = 0x5eed,.deliver = deliver,.failed = failed
        };
        if (bufenlarge_context_open(&config, &contexts[rank], message, sizeof(message)) != 0)
            die("open", message);
        bufenlarge_context_address(contexts[rank], addresses + rank * sizeof(struct sockaddr_in));
    }
    bufenlarge_options_destroy(options);
}

void set_addresses(unsigned first, unsigned end, const unsigned char *addresses)
{
    for (unsigned rank = first; rank < end; rank++)
        if (bufenlarge_context_set_addresses(contexts[rank], addresses, count) != 0)
            die("addresses", "refused");
}

void open_all(const knob_t * knobs)
{
    unsigned char *addresses = new_addresses();
    open_contexts(0, count, knobs, addresses);
    set_addresses(0, count, addresses);
    free(addresses);
}

void close_all(void)
{
    for (unsigned rank = 0; rank < count; rank++)
        if (contexts[rank] != NULL)
            bufenlarge_context_close(contexts[rank]);
    free(contexts);
    contexts = NULL;
}

int send_8(unsigned from, unsigned to)
{
    uint64_t word = from;
    struct iovec vector = {.iov_base = &word,.iov_len = sizeof(word) };
    size_t sent = 0;
    bufenlarge_channel_t *channel = bufenlarge_context_channel(contexts[from], to);

    if (bufenlarge_channel_send(channel, &vector, 1, 0, &sent) != BUFENLARGE_OK)
        die("send", bufenlarge_channel_error(channel));
    return sent == sizeof(word);
}

int ascending(const void *a, const void *b)
{
    const double one = *(const double *) a, other = *(const double *) b;
    return (one > other) - (one < other);
}
