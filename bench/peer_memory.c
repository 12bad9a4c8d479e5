/* SPDX-License-Identifier: MIT */
/*
 * peer_memory.c: what one more connected, idle endpoint takes, as the system sees it and as the library
 * counts it. One process opens PEERS + 1 contexts and connects them step by step: in step d each context
 * with the one d places further. After each step everything is idle and the system is read: /proc/meminfo,
 * /proc/slabinfo and the process's own private memory. Each connection has two endpoints, both in here.
 * Output: lines `endpoints,source,name,bytes`.
 */
#include "many_contexts.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONTEXTS_MAX = 257, PATIENCE = 120 };

static int all_idle(void)
{
    int idle = 1;
    for (unsigned rank = 0; rank < count; rank++) {
        bufenlarge_context_progress(contexts[rank]);
        idle &= bufenlarge_context_idle(contexts[rank]);
    }
    return idle;
}

/* 8 bytes from each context to the one `distance` further, one connection after the other: devices in
 * software accept only so many at once. */
static void connect_step(unsigned distance)
{
    time_t end = time(NULL) + PATIENCE;

    for (unsigned rank = 0; rank < count; rank++) {
        const unsigned long wanted = delivered + 1;

        for (int sent = 0; !sent || delivered < wanted || !all_idle();) {
            sent = sent || send_8(rank, (rank + distance) % count);
            all_idle();
            if (time(NULL) > end)
                die("connecting", "took longer than its limit");
        }
    }
    for (int i = 0; i < 1000; i++)
        all_idle();
}

/* Lines "Name:  number kB"; both files have the same form. */
static void print_file(unsigned endpoints, const char *path, const char *source)
{
    FILE *file = fopen(path, "r");
    char line[256], name[64];
    unsigned long kib;

    if (file == NULL)
        die(path, "cannot be read");
    while (fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "%63[^:]: %lu kB", name, &kib) == 2)
            printf("%u,%s,%s,%lu\n", endpoints, source, name, 1024 * kib);
    fclose(file);
}

/* name <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables ... : slabdata
 * <active_slabs> <num_slabs> <sharedavail>. What objects in use take, not the slack of their slabs. */
static void print_slabs(unsigned endpoints)
{
    FILE *file = fopen("/proc/slabinfo", "r");
    char line[512], name[64];
    unsigned long active, objects, bytes;

    if (file == NULL)
        die("/proc/slabinfo", "cannot be read");
    while (fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "%63s %lu %lu %lu", name, &active, &objects, &bytes) == 4)
            printf("%u,slab,%s,%lu\n", endpoints, name, active * bytes);
    fclose(file);
}

static void print_library(unsigned endpoints)
{
    bufenlarge_peer_memory_t memory;
    unsigned long registered = 0, regions = 0;

    for (unsigned rank = 0; rank < count; rank++) {
        bufenlarge_context_stats_t stats;
        bufenlarge_context_stats(contexts[rank], &stats);
        registered += stats.registered_bytes;
        regions += stats.registrations - stats.deregistrations;
    }
    bufenlarge_context_peer_memory(contexts[0], &memory);
    printf("%u,registered,bytes,%lu\n%u,registered,regions,%lu\n", endpoints, registered, endpoints, regions);
    printf("%u,library,ring,%lu\n%u,library,control,%lu\n%u,library,heap,%lu\n", endpoints,
           (unsigned long) memory.ring_bytes, endpoints, (unsigned long) memory.control_bytes, endpoints,
           (unsigned long) memory.heap_bytes);
    printf("%u,library,send_queue,%lu\n%u,library,receive_queue,%lu\n%u,library,completion_queue,%lu\n",
           endpoints, (unsigned long) memory.send_queue_bytes, endpoints,
           (unsigned long) memory.receive_queue_bytes, endpoints,
           (unsigned long) memory.completion_queue_bytes);
    printf("%u,library,driver,%lu\n", endpoints, (unsigned long) memory.driver_bytes);
}

/* Slabs keep objects that were freed, on lists of each processor: given back, or new objects would seem to
 * take nothing. A cache that has no such file has nothing to give. */
static void shrink_slabs(void)
{
    glob_t found;

    if (glob("/sys/kernel/slab/*/shrink", 0, NULL, &found) != 0)
        die("/sys/kernel/slab", "no caches there");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        int file = open(found.gl_pathv[i], O_WRONLY);
        if (file >= 0 && write(file, "1", 1) != 1)
            fprintf(stderr, "peer_memory: %s: not shrunk\n", found.gl_pathv[i]);
        if (file >= 0)
            close(file);
    }
    globfree(&found);
}

static void print_all(unsigned endpoints)
{
    usleep(300000);             /* what the kernel frees by RCU and by workers is gone then */
    shrink_slabs();
    print_file(endpoints, "/proc/meminfo", "meminfo");
    print_file(endpoints, "/proc/self/smaps_rollup", "process");
    print_slabs(endpoints);
    print_library(endpoints);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    bufenlarge_context_stats_t stats;

    count = argc == 3 ? (unsigned) atoi(argv[1]) + 1 : 0;
    if (count < 3 || count > CONTEXTS_MAX || getenv("RDMA_VM_INTERFACE") == NULL) {
        fprintf(stderr, "usage: peer_memory PEERS polled|notified|tcp, in the guest of tools/rdma-vm; "
                "PEERS is 2 to %d\n", CONTEXTS_MAX - 1);
        return 2;
    }
    const int tcp = strcmp(argv[2], "tcp") == 0;
    const knob_t knobs[] = { {"PROVIDER", tcp ? "tcp" : "verbs", 0},
        {"INTERFACE", tcp ? "lo" : getenv("RDMA_VM_INTERFACE"), 0}, {"ARRIVAL", tcp ? "polled" : argv[2], 0},
        {NULL, NULL, 0}
    };
    open_all(knobs);
    bufenlarge_context_stats(contexts[0], &stats);
    fprintf(stderr, "%u contexts, %s, %s, %s\n", count, stats.provider, stats.protocol, stats.arrival);
    print_all(0);
    for (unsigned distance = 1; 2 * distance < count; distance++) {
        connect_step(distance);
        print_all(2 * count * distance);
    }
    close_all();
    return 0;
}
