/* SPDX-License-Identifier: MIT */
/*
 * addresses.c: the private memory of contexts that know the addresses of COUNT processes and have a channel to one of
 * them. It opens 16 contexts, as a process with 16 VCIs does, and prints the bytes that one of them takes, as a line
 * `context_private,COUNT,value,B`: Private_Dirty of /proc/self/smaps_rollup. The table of the addresses was there
 * before and is not in it. With -DCOPIED it measures libraries that cannot share a table.
 */
#include <bufenlarge.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXTS = 16 };

static void die(const char *what, const char *why)
{
    fprintf(stderr, "addresses: %s: %s\n", what, why);
    exit(1);
}

static void deliver(void *user, uint32_t peer, const void *data, size_t bytes, unsigned marks)
{
    (void) user, (void) peer, (void) data, (void) bytes, (void) marks;
}

static void failed(void *user, uint32_t peer, bufenlarge_status_t status, const char *message)
{
    (void) user, (void) peer, (void) status;
    die("a connection was lost", message);
}

static long private_bytes(void)
{
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kib = -1;
    while (rollup != NULL && fgets(line, sizeof(line), rollup) != NULL)
        (void) sscanf(line, "Private_Dirty: %ld", &kib);
    if (kib < 0)
        die("/proc/self/smaps_rollup", "no Private_Dirty line");
    fclose(rollup);
    return 1024 * kib;
}

static bufenlarge_context_t *open_context(const bufenlarge_options_t * options, const unsigned char *table,
                                          uint32_t count)
{
    const bufenlarge_context_config_t config = {
        .options = options,.size = count,.job_key = 0x5eed,.deliver = deliver,.failed = failed
    };
    bufenlarge_context_t *context;
    bufenlarge_status_t status;
    char message[BUFENLARGE_MESSAGE_BYTES];

    if (bufenlarge_context_open(&config, &context, message, sizeof(message)) != BUFENLARGE_OK)
        die("open", message);
#ifdef COPIED
    status = bufenlarge_context_set_addresses(context, table, count);
#else
    status = bufenlarge_context_share_addresses(context, table, sizeof(struct sockaddr_in), count);
#endif
    if (status != BUFENLARGE_OK || bufenlarge_context_channel(context, count - 1) == NULL)
        die("addresses", bufenlarge_status_name(status));
    return context;
}

int main(int argc, char **argv)
{
    const uint32_t count = argc == 2 ? (uint32_t) strtoul(argv[1], NULL, 10) : 0;
    unsigned char *table = malloc((size_t) count * sizeof(struct sockaddr_in));
    bufenlarge_options_t *options = bufenlarge_options_create();
    bufenlarge_context_t *contexts[CONTEXTS];
    char message[BUFENLARGE_MESSAGE_BYTES];
    long before;

    if (count < 2) {
        fprintf(stderr, "usage: addresses COUNT; COUNT is 2 or more\n");
        return 2;
    }
    if (table == NULL || options == NULL)
        die("start", "no memory");
    memset(table, 0x7f, (size_t) count * sizeof(struct sockaddr_in));
    if (bufenlarge_options_set(options, "INTERFACE", getenv("MPIR_CVAR_BUFENLARGE_INTERFACE"), message,
                               sizeof(message)) != BUFENLARGE_OK)
        die("options", message);
    bufenlarge_context_close(open_context(options, table, 2));  /* what is made once in a process */
    before = private_bytes();
    for (int i = 0; i < CONTEXTS; i++)
        contexts[i] = open_context(options, table, count);
    printf("context_private,%u,%ld,B\n", (unsigned) count, (private_bytes() - before) / CONTEXTS);
    for (int i = 0; i < CONTEXTS; i++)
        bufenlarge_context_close(contexts[i]);
    bufenlarge_options_destroy(options);
    free(table);
    return 0;
}
